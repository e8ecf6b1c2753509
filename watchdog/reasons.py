"""Which task waits for which in a run, and what a user can do about it."""

import pathlib
import signal
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from run_files import status
from watchdog import servers
from watchdog import snapshot as snapshot_lib

# The roles that call each role's servers.
_CLIENTS = {
  'replay': ('learner', 'actor'),
  'variable_server': ('learner', 'actor', 'evaluator'),
  'counter': ('learner', 'actor', 'evaluator'),
}
# Seconds that a process may take to import and compile before it serves.
_STARTING_SECONDS = 30.0
_ENDED = (
  *(status.TaskState.FINISHED, status.TaskState.FAILED),
  *(status.TaskState.STOPPED, status.TaskState.KILLED),
)


class Reason(NamedTuple):
  """Why something waits.

  Attributes:
    key: identifies the reason, without the numbers in its text.
    text: sentences that say who waits for what, and what to do.
    waiters: the names of the tasks that wait.
  """

  key: str
  text: str
  waiters: Sequence[str] = ()


def find(snapshot: snapshot_lib.Snapshot) -> list[Reason]:
  """Returns the reasons why tasks wait, causes before their effects."""
  return [
    *_tasks(snapshot),
    *_silent(snapshot),
    *_weights(snapshot),
    *_replay(snapshot),
  ]


def _tasks(snapshot: snapshot_lib.Snapshot) -> Iterator[Reason]:
  for name, task in snapshot.tasks.items():
    waiters = _waiters(snapshot, task.label)
    waits = f' {_wait(waiters)} for it.' if waiters else ''
    log = f'Its output is in logs/{name.replace("/", "_")}.log.'
    if task.state == status.TaskState.BACKOFF:
      yield Reason(
        f'backoff {name}',
        f'{name} ended with {_exit(task.exit_code)} and is about to be '
        f'restarted (restarts so far: {task.restarts}).{waits} {log}',
        waiters,
      )
    elif task.state in _ENDED:
      yield Reason(
        f'ended {name}',
        f'{name} has ended ({task.state}) and is not restarted.{waits} {log}',
        waiters,
      )
    elif task.state != status.TaskState.RUNNING:
      yield Reason(f'start {name}', f'{name} is {task.state}.{waits}', waiters)


def _silent(snapshot: snapshot_lib.Snapshot) -> Iterator[Reason]:
  for name, address in snapshot.silent.items():
    task = snapshot.tasks[name]
    pid = task.pid
    waiters = _waiters(snapshot, task.label)
    waits = f' {_wait(waiters)} for it.' if waiters else ''
    if _is_suspended(pid):
      waiters = [name, *waiters]
      out = f'Its process {pid} is suspended; `kill -CONT {pid}` wakes it.'
    elif (uptime := snapshot.status.uptime(task)) < _STARTING_SECONDS:
      out = f'Its process {pid} started {uptime:.0f} s ago.'
    else:
      out = (
        f'Its process {pid} has run for {uptime:.0f} s; '
        f'`py-spy dump --pid {pid}` shows what it does, and after '
        f'`kill -9 {pid}` the launcher restarts it.'
      )
    yield Reason(
      f'silent {name}',
      f'{name} does not answer at {address}.{waits} {out}',
      waiters,
    )


def _weights(snapshot: snapshot_lib.Snapshot) -> Iterator[Reason]:
  readers = [*snapshot.with_label('actor'), *snapshot.with_label('evaluator')]
  learners = snapshot.with_label('learner')
  for server in snapshot.with_label('variable_server'):
    for table, *_ in snapshot.tables.get(server, ()):
      if not table.size:
        yield Reason(
          f'empty {server} {table.name}',
          f'{_wait(readers)} for the first weights: table {table.name!r} of '
          f'{server} is empty until {listed(learners)} pushes.',
          readers,
        )


def _replay(snapshot: snapshot_lib.Snapshot) -> Iterator[Reason]:
  for server in snapshot.with_label('replay'):
    for waiting in snapshot.tables.get(server, ()):
      yield from _limited(snapshot, server, waiting)


def _limited(
  snapshot: snapshot_lib.Snapshot, server: str, waiting: servers.Waiting
) -> Iterator[Reason]:
  table = waiting.table
  where = f"{server}'s table {table.name!r}"
  learners = snapshot.with_label('learner')
  actors = snapshot.with_label('actor')
  rule = table.describe()
  if table.never_fills:
    yield Reason(
      f'small {where}',
      f'{_wait(learners)} for ever: {where} holds {table.max_size:,} items at '
      f'most (max_size), and sampling needs {table.min_size:,} '
      '(min_size_to_sample). Raise max_size, or lower min_size_to_sample.',
      learners,
    )
  elif table.blocks_samples and table.blocks_inserts:
    yield Reason(
      f'deadlock {where}',
      f'Deadlock: the rate limiter of {where} blocks both sides, '
      f'{listed(learners)} and {listed(actors)} ({rule}). Widen its '
      'error_buffer: the range must span at least 2 x max(1, '
      f'samples_per_insert) = {2 * max(1, table.samples_per_insert):g}.',
      [*learners, *actors],
    )
  elif waiting.samplers:
    yield Reason(
      f'samplers {where}',
      f'{_wait(learners)} for items of {listed(actors)}: the rate limiter of '
      f'{where} lets nothing be sampled before {table.inserts_missing:,} more '
      f'items are inserted ({rule}). If the actors act, this ends by itself. '
      'If not, lower min_size_to_sample, or find out why the actors wait.',
      learners,
    )
  elif waiting.inserters:
    yield Reason(
      f'inserters {where}',
      f'{_wait(actors)} for samples by {listed(learners)}: the rate limiter of '
      f'{where} lets nothing be inserted before {table.samples_missing:,} more '
      f'items are sampled ({rule}). If the learner learns, this ends by '
      'itself. If not, find out why it waits, or widen the error_buffer.',
      actors,
    )


def _waiters(snapshot: snapshot_lib.Snapshot, label: str) -> list[str]:
  return [
    name
    for role in _CLIENTS.get(label, ())
    for name in snapshot.with_label(role)
  ]


def _wait(tasks: list[str]) -> str:
  return f'{listed(tasks)} {"waits" if len(tasks) == 1 else "wait"}'


def listed(tasks: Sequence[str]) -> str:
  """Returns the names of tasks as text, such as `learner/0 and actor/0-7`."""
  by_label = {}
  for name in tasks:
    by_label.setdefault(name.rpartition('/')[0], []).append(name)
  parts = [
    names[0] if len(names) == 1 else f'{label}/0-{len(names) - 1}'
    for label, names in by_label.items()
  ]
  return ' and '.join(', '.join(parts).rsplit(', ', 1)) or 'no task'


def _exit(code: int) -> str:
  return signal.Signals(-code).name if code < 0 else f'exit code {code}'


def _is_suspended(pid: int) -> bool:
  try:
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
  except OSError:
    return False
  return stat.rpartition(')')[2].split()[0] in ('T', 't')
