import csv
import pickle
import subprocess
import sys

import compat  # noqa: F401

import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from acme.utils.loggers import base

from reporting import loggers
from run_files import metrics
from tests.run_files import disks


def read(path) -> list[dict[str, str]]:
  with open(path, newline='') as f:
    return list(csv.DictReader(f))


class Rows(base.Logger):
  """Keeps what it gets."""

  def __init__(self):
    self.rows = []
    self.closed = 0

  def write(self, data):
    self.rows.append(dict(data))

  def close(self):
    self.closed += 1


class TestCSVLogger:
  def test_a_row_is_in_the_file_before_close(self, tmp_path):
    path = tmp_path / 'deep' / 'down' / 'actor_0.csv'
    logger = loggers.CSVLogger(str(path))
    logger.write({'a': 1, 'b': 2.5})
    (row,) = read(path)
    assert (row['a'], row['b']) == ('1', '2.5')
    assert float(row['time']) > 1e9

  def test_resume_appends(self, tmp_path):
    path = tmp_path / 'a.csv'
    for value in (1, 2):
      logger = loggers.CSVLogger(str(path))
      logger.write({'a': value})
      logger.close()
    assert [row['a'] for row in read(path)] == ['1', '2']

  def test_rows_wait_for_room_on_the_disk(self, tmp_path, capsys):
    path = tmp_path / 'a.csv'
    logger = loggers.CSVLogger(str(path))
    logger.write({'a': 1})
    with disks.full(path.stat().st_size + 5):
      logger.write({'a': 2})
      logger.write({'a': 3, 'b': 4})
    assert [row['a'] for row in read(path)] == ['1']
    logger.write({'a': 5})
    logger.close()
    assert [(row['a'], row['b']) for row in read(path)] == [
      *[('1', ''), ('2', ''), ('3', '4'), ('5', '')],
    ]
    first, second = capsys.readouterr().out.splitlines()
    assert 'cannot be written now' in first and 'written again' in second

  def test_a_folder_in_place_of_the_file_ends_nothing(self, tmp_path, capsys):
    path = tmp_path / 'a.csv'
    path.mkdir()
    logger = loggers.CSVLogger(str(path))
    logger.write({'a': 1})
    logger.close()
    assert '1 rows of' in capsys.readouterr().out
    path.rmdir()
    logger.write({'a': 2})
    assert [row['a'] for row in read(path)] == ['1', '2']

  def test_a_new_field_extends_the_header(self, tmp_path):
    path = tmp_path / 'a.csv'
    logger = loggers.CSVLogger(str(path))
    logger.write({'a': 1})
    logger.write({'b': 2, 'a': 3})
    logger.write({'a': 4})
    assert [(r['a'], r['b']) for r in read(path)] == [
      ('1', ''),
      ('3', '2'),
      ('4', ''),
    ]
    assert [p.name for p in tmp_path.iterdir()] == ['a.csv']

  @pytest.mark.parametrize('torn', ['17', '17.5,2,', 'time'])
  def test_resume_cuts_off_a_torn_line(self, tmp_path, torn):
    path = tmp_path / 'a.csv'
    before = '' if torn == 'time' else 'time,a,b\n16.5,1,1\n'
    path.write_text(before + torn)
    loggers.CSVLogger(str(path)).write({'a': 3, 'b': 4})
    expected = [('3', '4')] if torn == 'time' else [('1', '1'), ('3', '4')]
    assert [(row['a'], row['b']) for row in read(path)] == expected

  def test_close_twice_and_a_late_row(self, tmp_path):
    path = tmp_path / 'a.csv'
    logger = loggers.CSVLogger(str(path))
    logger.close()
    logger.close()
    logger.write({'a': 1})
    assert len(read(path)) == 1

  def test_text_with_commas_stays_in_its_field(self, tmp_path):
    path = tmp_path / 'a.csv'
    loggers.CSVLogger(str(path)).write({'a': 'x,"y"', 'b': None})
    assert (read(path)[0]['a'], read(path)[0]['b']) == ('x,"y"', '')

  @pytest.mark.parametrize(
    'value, expected',
    [
      (np.float32(0.5), '0.5'),
      (np.int64(3), '3'),
      (np.array([1.5]), '1.5'),
      (jnp.float32(0.5), '0.5'),
      (jnp.bfloat16(0.5), '0.5'),
      (jnp.int32(7), '7'),
      (tf.constant(2.5), '2.5'),
      (True, 'True'),
      (np.float64('nan'), 'nan'),
      (np.array([1, 2]), '[1 2]'),
    ],
  )
  def test_scalars_of_every_library(self, tmp_path, value, expected):
    path = tmp_path / 'a.csv'
    loggers.CSVLogger(str(path)).write({'a': value})
    assert read(path)[0]['a'] == expected


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
