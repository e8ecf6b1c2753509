"""The learning curve, from evaluators' metrics."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import image

from reporting import curve
from tests.reporting import csv_files

FIELDS = ['time', 'actor/steps', 'evaluator/episode_return']


def num_coloured(path) -> int:
  """Counts the coloured pixels; all but the curve is grey."""
  pixels = image.imread(path)[..., :3]
  return int((np.ptp(pixels, axis=-1) > 0.3).sum())


def test_draws_the_returns(tmp_path):
  rows = [(i, 100 * i, -1000 + 10 * i) for i in range(60)]
  csv_files.write(tmp_path, 'evaluator_0', FIELDS, rows)
  path = curve.write_learning_curve(tmp_path)
  assert path == tmp_path / 'learning_curve.png'
  assert num_coloured(path) > 1000


@pytest.mark.parametrize('rows', [None, []])
def test_a_run_without_evaluations_gets_a_figure(tmp_path, rows):
  if rows is not None:
    csv_files.write(tmp_path, 'evaluator_0', FIELDS, rows)
  assert num_coloured(curve.write_learning_curve(tmp_path)) == 0


def test_returns_that_are_not_finite_are_left_out(tmp_path):
  rows = [(i, 100 * i, -1000 + 10 * i) for i in range(60)]
  csv_files.write(tmp_path, 'evaluator_0', FIELDS, rows)
  coloured = num_coloured(curve.write_learning_curve(tmp_path))
  rows[::3] = [(i, 100 * i, 'nan') for i in range(0, 60, 3)]
  csv_files.write(tmp_path, 'evaluator_0', FIELDS, rows)
  assert num_coloured(curve.write_learning_curve(tmp_path)) > coloured / 2
  csv_files.write(tmp_path, 'evaluator_0', FIELDS, [(1, 2, 'inf')])
  assert num_coloured(curve.write_learning_curve(tmp_path)) == 0


def test_evaluations_of_all_evaluators_in_order_of_steps(tmp_path):
  csv_files.write(
    tmp_path, 'evaluator_0', FIELDS, [(1, 10, -1), (3, 30, -3)], torn='4,40,-'
  )
  csv_files.write(
    # The first episode ended before any step was counted.
    tmp_path,
    'evaluator_1',
    FIELDS,
    [(1, '', -9), (2, 20, -2), (5, 50, 'nan')],
  )
  steps, returns = curve.evaluations(tmp_path)
  np.testing.assert_array_equal(steps, [0, 10, 20, 30, 50])
  np.testing.assert_array_equal(returns, [-9, -1, -2, -3, np.nan])


def test_running_mean():
  means = curve.running_mean(np.array([1.0, 3.0, np.nan, 1.0, 2.0]), 2)
  np.testing.assert_array_equal(means, [1, 2, np.nan, np.nan, 1.5])


def test_importing_it_is_quick():
  program = (
    'import sys\n'
    'from reporting import curve, summary\n'
    'print({"jax", "tensorflow", "acme", "matplotlib"} & set(sys.modules))\n'
  )
  result = subprocess.run(
    [sys.executable, '-c', program],
    capture_output=True,
    text=True,
    timeout=60,
    check=True,
  )
  assert result.stdout.strip() == 'set()'
