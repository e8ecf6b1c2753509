"""A task that hangs by itself is named, however well the others work."""

import time

import pytest

from run_files import status
from system import stacks
from tests.run_files import statuses
from watchdog import reasons, snapshot, stuck, watchdog

_STUCK_AFTER = 10.0


def _task(label, index=0, uptime=100.0, **fields):
  started = None if uptime is None else time.time() - uptime
  return statuses.task(
    label, index, pid=4_000_000 + index, started=started, **fields
  )


def _run(*tasks, rows=None):
  fresh = [{'time': time.time(), 'actor/steps': 1, 'learner/steps': 1}]
  return snapshot.Snapshot(
    status=status.RunStatus(statuses.launcher(), tasks, alive=True),
    rows={**{task.name: fresh for task in tasks}, **(rows or {})},
    tables={},
    silent={},
  )


def _ago(seconds):
  return [{'time': time.time() - seconds, 'actor/steps': 100}]


def test_one_actor_of_many_is_named_with_its_process():
  run = _run(
    *(_task('actor', i) for i in range(3)),
    _task('learner'),
    rows={'actor/1': _ago(30)},
  )
  (reason,) = stuck.find(run, [], _STUCK_AFTER)
  assert 'actor/1, process 4000001, has made no step for 30 s' in reason.text
  assert 'kill -9 4000001' in reason.text


@pytest.mark.parametrize(
  'task, rows',
  [
    ({'state': 'backoff'}, 30),
    ({'state': 'finished', 'uptime': None}, 30),
    # It has just started, perhaps over and over.
    ({'uptime': 5.0}, 30),
    ({}, 5),
  ],
)
def test_tasks_that_are_not_stuck_are_not_named(task, rows):
  run = _run(_task('actor', **task), rows={'actor/0': _ago(rows)})
  assert stuck.find(run, [], _STUCK_AFTER) == []


def test_a_task_that_never_made_a_step_is_named():
  run = _run(_task('actor'), rows={'actor/0': []})
  (reason,) = stuck.find(run, [], _STUCK_AFTER)
  assert 'no step for 100 s' in reason.text


def test_a_task_that_waits_for_another_is_not_named():
  run = _run(_task('actor'), _task('learner'), rows={'learner/0': _ago(30)})
  waits = reasons.Reason('samplers', 'learner/0 waits', ['learner/0'])
  assert stuck.find(run, [waits], _STUCK_AFTER) == []
  assert stuck.find(run, [], _STUCK_AFTER) != []


def test_only_the_first_of_many_are_described():
  run = _run(
    *(_task('actor', i) for i in range(9)),
    rows={f'actor/{i}': _ago(30) for i in range(9)},
  )
  found = stuck.find(run, [], _STUCK_AFTER)
  assert len(found) == 4
  assert '6 more have made no step for as long' in found[-1].text


def test_it_says_where_the_loop_stands(monkeypatch):
  frame = stacks.Frame
  main = [frame('/p/worker.py', 82, 'run'), frame('<string>', 1, '<module>')]
  loop = [
    frame('/home/me/envs.py', 68, 'step'),
    frame('/p/gym.py', 75, 'step'),
    frame('/p/nodes/worker.py', 127, 'run'),
    frame('/usr/threading.py', 1016, '_bootstrap_inner'),
  ]
  monkeypatch.setattr(stacks, 'ask', lambda pid, name: [main, loop])
  run = _run(_task('actor'), rows={'actor/0': _ago(30)})
  (reason,) = stuck.find(run, [], _STUCK_AFTER)
  assert (
    'It is in step (/home/me/envs.py:68), called by step (gym.py:75), by '
    'run (worker.py:127)' in reason.text
  )
  monkeypatch.setattr(stacks, 'ask', lambda pid, name: [main])
  (reason,) = stuck.find(run, [], _STUCK_AFTER)
  assert 'It is in run (/p/worker.py:82)' in reason.text


class _Clock:
  def __init__(self):
    self.now = 1000.0

  def monotonic(self):
    return self.now


def test_a_task_that_gets_stuck_later_is_named_at_once(monkeypatch, tmp_path):
  """A learner waits first; the actor that it waits for has begun to hang."""
  clock, said = _Clock(), []
  monkeypatch.setattr(watchdog.time, 'monotonic', clock.monotonic)
  dog = watchdog.Watchdog(tmp_path, 3600.0, said.append)
  dog.close()
  dog._stuck_after = _STUCK_AFTER
  waits = [reasons.Reason('samplers', 'learner/0 waits', ['learner/0'])]
  monkeypatch.setattr(reasons, 'find', lambda run: waits)

  def look(seconds, actors_row):
    clock.now += seconds
    said.clear()
    rows = {'actor/0': _ago(actors_row), 'learner/0': _ago(50)}
    dog._look(_run(_task('actor'), _task('learner'), rows=rows))
    return '\n'.join(said)

  assert look(0, 0) == ''
  assert 'learner/0 waits' in look(11, 0)
  assert look(1, 8) == ''
  assert 'actor/0, process' in look(2, 11)
  assert look(30, 41) == ''
  assert 'actor/0, process' in look(31, 72)
