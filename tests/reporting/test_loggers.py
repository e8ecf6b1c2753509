"""The logger of a process: which rows it writes, and where."""

import csv
import pickle
import subprocess
import sys

import compat  # noqa: F401

import jax.numpy as jnp
import numpy as np
from acme.utils.loggers import base

from reporting import loggers
from run_files import metrics


def read(path) -> list[dict[str, str]]:
  with open(path, newline='') as f:
    return list(csv.DictReader(f))


class Rows(base.Logger):
  """Keeps the rows that it gets, and counts how often it is closed."""

  def __init__(self):
    self.rows = []
    self.closed = 0

  def write(self, data):
    self.rows.append(dict(data))

  def close(self):
    self.closed += 1


class TestMakeLogger:
  def test_actor(self, tmp_path):
    lines = []
    logger = loggers.make_logger(
      str(tmp_path), 'actor', 'actor_steps', 1, 1000.0, lines.append
    )
    for episode in (1, 2, 3):
      logger.write(
        {
          'episode_return': np.float32(-1034.2),
          'episode_length': 200,
          'steps_per_second': 103.4,
          'actor_steps': 1000 + episode,
          'actor_episodes': episode,
          'learner_steps': 17,
          'weights/version': 118,
          'weights/lag_versions': 1,
        }
      )
    logger.close()
    rows = read(tmp_path / 'metrics' / 'actor_1.csv')
    assert [row['actor/episodes'] for row in rows] == ['1', '2', '3']
    assert rows[0]['learner/steps'] == '17'
    # The first at once, the next not so soon, and at the end the last.
    assert lines == [
      f'[actor/1]     steps   {steps}  return  -1034.2  length  200  '
      '  103 steps/s  weights v118 (lag 1)'
      for steps in ('1,001', '1,003')
    ]

  def test_evaluator_prints_every_result(self, tmp_path):
    lines = []
    logger = loggers.make_logger(
      str(tmp_path), 'evaluator', print_fn=lines.append
    )
    for steps in (100, 200):
      logger.write({'episode_return': -5.0, 'actor_steps': steps})
    assert lines == [
      '[evaluator/0] steps     100  return     -5.0',
      '[evaluator/0] steps     200  return     -5.0',
    ]

  def test_learner_keeps_the_first_and_the_last_row(self, tmp_path):
    lines = []
    logger = loggers.make_logger(
      str(tmp_path), 'learner', time_delta=1000.0, print_fn=lines.append
    )
    for step in range(1, 51):
      logger.write(
        {
          'critic_loss': jnp.float32(0.125),
          'alpha': 0.1,
          'learner_steps': step,
          'weights/pushes': 2 * step,
          'weights/version': 2 * step,
        }
      )
    logger.close()
    logger.close()
    first, last = read(tmp_path / 'metrics' / 'learner_0.csv')
    assert (first['learner/steps'], last['learner/steps']) == ('1', '50')
    assert float(last['learner/steps_per_second']) > 0
    assert last['learner/alpha'] == '0.1'
    assert (
      lines[0] == '[learner/0]   steps       1  critic_loss 0.125  pushes 2'
    )
    assert lines[1].startswith('[learner/0]   steps      50  ')

  def test_factory_is_what_an_experiment_takes(self, tmp_path):
    factory = pickle.loads(pickle.dumps(loggers.logger_factory(str(tmp_path))))
    factory('actor', 'actor_steps', 3).write({'episode_return': 1.0})
    ((row,),) = metrics.read(tmp_path, 'actor')
    assert row['actor/episode_return'] == 1.0


def test_time_filter_passes_on_a_row_once():
  rows = Rows()
  logger = loggers.TimeFilter(rows, 1000.0)
  for i in range(3):
    logger.write({'i': i})
  logger.close()
  logger.close()
  assert rows.rows == [{'i': 0}, {'i': 2}]


def test_rows_outlive_a_killed_process(tmp_path):
  program = (
    'import os, signal, sys\n'
    'from reporting import loggers\n'
    'logger = loggers.make_logger(sys.argv[1], "actor")\n'
    'for i in range(100):\n'
    '  logger.write({"i": i})\n'
    'os.kill(os.getpid(), signal.SIGKILL)\n'
  )
  subprocess.run(
    [sys.executable, '-c', program, str(tmp_path)], timeout=120, check=False
  )
  ((*rows,),) = metrics.read(tmp_path, 'actor')
  assert [row['actor/i'] for row in rows] == list(range(100))
