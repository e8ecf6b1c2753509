"""Sinks that follow a run, fed by real processes."""

import contextlib
import json
import os
import shlex
import subprocess
import sys

import psutil
import pytest

from reporting import sinks
from reporting.sinks import followers, tensorboard
from tests import helpers
from tests.reporting.sinks import runs


def _steps(run_dir):
  path = run_dir / 'metrics.jsonl'
  lines = path.read_text().splitlines() if path.exists() else []
  return [json.loads(line)['actor/steps'] for line in lines]


def _wait_for(run_dir, steps):
  helpers.wait_until(lambda: _steps(run_dir) == steps, f'{steps}')


def test_rows_come_while_it_runs_and_the_last_at_the_end(tmp_path):
  runs.make(tmp_path)
  said = []
  names = ['jsonl', 'tensorboard']
  with followers.following(names, tmp_path, said.append):
    runs.write(tmp_path, 200)
    _wait_for(tmp_path, [200])
    runs.write(tmp_path, 400, 600)
  assert _steps(tmp_path) == [200, 400, 600]
  assert tensorboard.sent(tmp_path) == {'actor_0': 3}
  assert said == []


def test_without_metrics_there_is_nothing_to_do(tmp_path):
  said = []
  with followers.following(['jsonl'], tmp_path, said.append) as (follower,):
    pass
  assert follower.has_all and said == []
  assert list(tmp_path.iterdir()) == []


def test_the_last_rows_come_even_if_the_run_fails(tmp_path):
  runs.make(tmp_path)
  with (
    contextlib.suppress(KeyError),
    followers.following(['jsonl'], tmp_path, print),
  ):
    runs.write(tmp_path, 200)
    raise KeyError
  assert _steps(tmp_path) == [200]


def test_a_sink_that_was_down_catches_up(tmp_path):
  runs.make(tmp_path)
  said = []
  # A folder where a file should be.
  (tmp_path / 'metrics.jsonl').mkdir()
  with followers.following(['jsonl'], tmp_path, said.append):
    runs.write(tmp_path, 200)
    helpers.wait_until(lambda: said, 'a complaint')
    (tmp_path / 'metrics.jsonl').rmdir()
    runs.write(tmp_path, 400)
    helpers.wait_until(lambda: len(said) == 2, 'the all-clear')
  complaint, all_clear = said
  assert complaint.startswith('jsonl: takes no metrics (IsADirectoryError')
  assert 'takes metrics again' in all_clear
  assert _steps(tmp_path) == [200, 400]


def test_of_a_sink_that_stays_down_the_missing_rows_are_counted(tmp_path):
  runs.make(tmp_path)
  said = []
  with followers.following(['tensorboard'], tmp_path, said.append) as (
    follower,
  ):
    runs.write(tmp_path, 200)
    helpers.wait_until(lambda: tensorboard.sent(tmp_path), 'a row')
    # A file where a folder should be.
    (tmp_path / 'tensorboard' / 'actor_1').touch()
    runs.write(tmp_path, 200, 400, process='actor_1')
    helpers.wait_until(lambda: said, 'a complaint')
  assert not follower.has_all
  complaint, lack = said
  assert complaint.startswith('tensorboard: takes no metrics (FileExistsError')
  assert lack.startswith('tensorboard: 2 of 3 rows did not get there. To')
  assert lack.endswith(
    'To send them: python launch.py send-metrics '
    f'{tmp_path} --metrics=tensorboard'
  )


def test_a_sink_that_hangs_is_left_behind_at_the_deadline(tmp_path):
  runs.make(tmp_path)
  others = psutil.Process().children()
  said = []
  with followers.following(['jsonl'], tmp_path, said.append, seconds=1):
    runs.write(tmp_path, 200)
    _wait_for(tmp_path, [200])
    (feeder,) = {*psutil.Process().children()} - {*others}
    feeder.suspend()
    runs.write(tmp_path, 400)
  assert not feeder.is_running()
  (lack,) = said
  assert lack.startswith('jsonl: 1 of 2 rows did not get there within 1 s')


def test_why_a_sink_failed_is_said_even_without_a_log(tmp_path):
  run_dir = tmp_path / 'x y'
  runs.make(run_dir)
  runs.write(run_dir, 200)
  (run_dir / 'metrics.jsonl').mkdir()
  (run_dir / 'logs').mkdir()
  # Behaves like a full disk.
  (run_dir / 'logs' / 'metrics_jsonl.log').symlink_to('/dev/full')
  said = []
  (follower,) = followers.send(['jsonl'], run_dir, said.append, seconds=60)
  assert not follower.has_all
  complaint, lack = said
  assert complaint.startswith('jsonl: takes no metrics (IsADirectoryError')
  # Without a run, it is tried only once.
  assert 'goes on' not in complaint and 'again' not in complaint
  assert ' did not get there. To send them: ' in lack
  _, command = lack.split('To send them: ')
  assert shlex.split(command)[-2] == str(run_dir)


def test_a_feeder_that_is_killed_is_reported(tmp_path):
  runs.make(tmp_path)
  others = psutil.Process().children()
  said = []
  with followers.following(['jsonl'], tmp_path, said.append):
    runs.write(tmp_path, 200)
    _wait_for(tmp_path, [200])
    (feeder,) = {*psutil.Process().children()} - {*others}
    feeder.kill()
    helpers.wait_until(lambda: said, 'a complaint')
  assert 'takes no metrics (its process ended with exit code -9)' in said[0]


_RUN = """
import pathlib, sys, time
from reporting.sinks import followers
with followers.following(['jsonl'], pathlib.Path(sys.argv[1]), print):
  time.sleep(100)
"""


@contextlib.contextmanager
def _killed_at_the_end(run_dir):
  """Yields a launcher whose feeder has sent the run's first row; kills it."""
  runs.make(run_dir)
  runs.write(run_dir, 200)
  with subprocess.Popen(
    [sys.executable, '-c', _RUN, str(run_dir)],
    env={**os.environ, helpers.MARKER: str(run_dir)},
  ) as launcher:
    try:
      _wait_for(run_dir, [200])
      yield launcher
    finally:
      launcher.kill()


def test_after_a_kill_the_next_feeder_sends_no_row_twice(tmp_path):
  with _killed_at_the_end(tmp_path) as launcher:
    (feeder,) = psutil.Process(launcher.pid).children()
    feeder.suspend()
    runs.write(tmp_path, 400)
  said = []
  with followers.following(['jsonl'], tmp_path, said.append):
    helpers.wait_until(lambda: said, 'a complaint')
    # While the first feeder lives, the second writes nothing.
    assert _steps(tmp_path) == [200]
    feeder.kill()
    with (tmp_path / 'metrics.jsonl').open('a') as f:
      f.write('{"label": "act')
    runs.write(tmp_path, 600)
  assert 'another process feeds it' in said[0]
  assert _steps(tmp_path) == [200, 400, 600]


def test_a_launcher_that_is_killed_leaves_no_process(tmp_path):
  with _killed_at_the_end(tmp_path):
    pass
  helpers.assert_nothing_left(str(tmp_path))


def test_an_unknown_sink_is_refused():
  with pytest.raises(ValueError, match='tensorboard, jsonl, wandb'):
    sinks.check(['jsonl', 'excel'])


def test_a_missing_package_is_refused_with_the_way_to_get_it(monkeypatch):
  monkeypatch.setitem(sys.modules, 'wandb', None)
  with pytest.raises(ValueError, match=r"pip install -e '\.\[wandb\]'"):
    sinks.check(['wandb'])
