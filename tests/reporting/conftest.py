"""Run directories with metrics, without a run."""

import json

import pytest

from tests.reporting import csv_files


@pytest.fixture
def make_run(tmp_path):
  """Returns a function `(name, **settings)` that makes a run directory."""

  def make(name, **settings):
    path = tmp_path / name
    returns = [(i, 100 * i, i - 10) for i in range(1, 10)]
    csv_files.write(path, 'evaluator_0', csv_files.EVALUATIONS, returns)
    steps = [(i, 100 * i, i % 3) for i in range(1, 10)]
    csv_files.write(path, 'actor_0', csv_files.ACTORS, steps)
    losses = [(i, 10 * i, 1 / i) for i in range(1, 10)]
    csv_files.write(path, 'learner_0', csv_files.LEARNER, losses)
    config = {'agent': 'sac', 'env': 'gym:A-v0', 'seed': 0, 'config': ''}
    (path / 'config.json').write_text(json.dumps({**config, **settings}))
    return path

  return make
