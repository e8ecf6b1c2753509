"""The end of a run is printed, also if some of it cannot be written."""

import json

import pytest

from backends.supervision import result as result_lib
from cli import ending
from tests.programs import samples
from tests.reporting import csv_files
from tests.run_files import disks


@pytest.fixture
def run_dir(tmp_path):
  (tmp_path / 'config.json').write_text(json.dumps(vars(samples.SETTINGS)))
  csv_files.write(
    tmp_path,
    'actor_0',
    ['time', 'actor/steps'],
    [[1.0, 200], [2.0, 400]],
  )
  return tmp_path


def _end(run_dir, exit_code, cause=None):
  result = result_lib.Result(exit_code, cause, {}, (), 3.0)
  return ending.end(samples.SETTINGS, run_dir, result)


def test_without_its_figure_a_run_has_summary_and_exit_code(run_dir, capsys):
  (run_dir / 'learning_curve.png').mkdir()
  assert _end(run_dir, 130) == 130
  out, error = capsys.readouterr()
  assert 'wall time' in out and '400' in out
  assert len(error.splitlines()) == 1 and 'learning_curve.png' in error


def test_on_a_full_disk_the_cause_is_last(run_dir, capsys):
  cause = result_lib.Cause('actor/0', 1, ('RuntimeError: its cause',))
  with disks.full():
    assert _end(run_dir, 1, cause) == 1
  *_, last = capsys.readouterr().err.splitlines()
  assert last == str(cause).splitlines()[-1]


def test_damaged_metrics_cost_the_summary_alone(run_dir, capsys):
  (run_dir / 'metrics' / 'actor_0.csv').write_bytes(b'time\n\xff\n')
  assert _end(run_dir, 0) == 0
  _, error = capsys.readouterr()
  assert 'actor_0.csv is damaged' in error
  # There is no checkpoint to make a policy of.
  assert 'the policy' in error
  assert 'Traceback' not in error
