"""Frames made from a run's files."""

import dataclasses
import os
import time

import pytest

from run_files import status
from tests.reporting import csv_files
from tests.run_files import statuses
from view import frame, gather

_GOAL = frame.Goal('sac on gym:Pendulum-v1', num_steps=8000)


@pytest.fixture
def gatherer(tmp_path):
  it = gather.Gatherer(tmp_path, _GOAL)
  yield it
  it.close()


def _write_status(run_dir, phase='running', pid=None, **task):
  pid = pid or os.getpid()
  (run_dir / 'logs').mkdir(exist_ok=True)
  status.write(
    str(run_dir / 'logs'),
    statuses.launcher(
      pid=pid, process_start=status.process_start(pid), state=phase
    ),
    [statuses.task(label, **task) for label in ('actor', 'learner')],
  )


def _write_actor(run_dir, rows):
  fields = ('time', 'actor/steps', 'actor/episode_return', 'weights/version')
  csv_files.write(run_dir, 'actor_0', fields, rows)


def test_a_run_that_has_written_nothing_starts(gatherer):
  seen = gatherer.look()
  assert (seen.phase, seen.steps, list(seen.tasks)) == ('starting', 0, [])
  assert not gatherer.has_ended()


def test_tasks_start_while_their_modules_are_imported(gatherer, tmp_path):
  _write_status(tmp_path, 'starting', state='waiting')
  assert {task.state for task in gatherer.look().tasks} == {'starting'}


def test_the_status_of_the_run_that_is_resumed_is_ignored(gatherer, tmp_path):
  _write_status(tmp_path, 'ended', pid=1)
  assert gatherer.look().phase == 'starting'
  assert not gatherer.has_ended()


def test_steps_rates_and_returns(gatherer, tmp_path):
  _write_status(tmp_path)
  now = time.time()
  rows = [(now + i, 100 * (i + 1), -i, i) for i in range(10)]
  _write_actor(tmp_path, rows)
  seen = gatherer.look()
  assert seen.steps == 1000
  assert seen.rate == pytest.approx(100.0)
  assert seen.seconds_left == pytest.approx(70.0)
  assert (seen.evaluated, seen.returns[-1]) == (False, -9)
  actor = seen.tasks[0]
  assert (actor.episode_return, actor.version, actor.lag) == (-9, 9, None)


def test_a_row_within_an_episode_leaves_the_last_return(gatherer, tmp_path):
  _write_status(tmp_path)
  now = time.time()
  _write_actor(tmp_path, [(now, 100, -5, 3), (now + 1, 150, '', '')])
  actor = gatherer.look().tasks[0]
  assert (actor.episode_return, actor.version) == (-5, 3)


def test_steps_before_a_resume_count_for_no_rate(tmp_path):
  _write_status(tmp_path)
  now = time.time()
  gatherer = gather.Gatherer(tmp_path, _GOAL)
  rows = [(now - 1000, 5000, -2, 7), (now + 1, 5100, -1, 8)]
  _write_actor(tmp_path, rows)
  seen = gatherer.look()
  assert (seen.steps, seen.rate) == (5100, None)
  assert list(seen.returns) == [-2, -1]


def test_where_the_learners_time_goes(gatherer, tmp_path):
  _write_status(tmp_path)
  now = time.time()
  fields = (
    *('time', 'learner/steps', 'replay/sample_wait_seconds'),
    'weights/blocked_seconds',
  )
  # One that was restarted counts from 0 again.
  rows = [(now, 900, 90, 9), (now + 1, 1000, 1, 0.5), (now + 5, 1400, 2, 0.9)]
  csv_files.write(tmp_path, 'learner_0', fields, rows)
  time_of = gatherer.look().learner_time
  assert time_of.sampling == pytest.approx(0.25)
  assert time_of.publishing == pytest.approx(0.1)


def test_an_offline_run_counts_the_learners_steps(tmp_path):
  _write_status(tmp_path)
  gatherer = gather.Gatherer(
    tmp_path, dataclasses.replace(_GOAL, has_actors=False)
  )
  fields = ('time', 'learner/steps')
  csv_files.write(tmp_path, 'learner_0', fields, [(time.time(), 300)])
  seen = gatherer.look()
  assert seen.steps == 300
