"""Finds tasks that make no step though they wait for no other task."""

import pathlib
import time
from collections.abc import Sequence

from run_files import metric_names, status
from system import stacks
from watchdog import reasons
from watchdog import snapshot as snapshot_lib

# The roles that write rows of metrics as they make steps.
_ROLES = ('actor', 'learner')
# If more tasks are stuck, only the names of the others are printed.
_MAX_DESCRIBED = 3
_MAX_FRAMES = 4
# The files and functions that call a task's loop, which has its own thread.
_LOOP = ('nodes/worker.py', 'run'), ('threading.py', '_bootstrap_inner')


def find(
  snapshot: snapshot_lib.Snapshot,
  waits: Sequence[reasons.Reason],
  stuck_after: float,
) -> list[reasons.Reason]:
  """Returns which tasks are stuck, and the stacks of the first few.

  Args:
    snapshot: the run at this moment.
    waits: the reasons why tasks wait for others.
    stuck_after: the seconds without a step after which a task is stuck.
  """
  waiters = {name for reason in waits for name in reason.waiters}
  idle = {
    name: seconds
    for role in _ROLES
    for name in snapshot.with_label(role)
    if name not in waiters and (seconds := _idle(snapshot, name)) >= stuck_after
  }
  described = list(idle)[:_MAX_DESCRIBED]
  result = [_describe(snapshot, name, idle[name]) for name in described]
  if others := list(idle)[_MAX_DESCRIBED:]:
    result.append(
      reasons.Reason(
        f'stuck {" ".join(others)}',
        f'{len(others)} more have made no step for as long: '
        f'{reasons.listed(others)}.',
      )
    )
  return result


def _idle(snapshot: snapshot_lib.Snapshot, name: str) -> float:
  """Returns the seconds since a task's newest row, or since its start."""
  task = snapshot.tasks[name]
  uptime = snapshot.status.uptime(task)
  if task.state != status.TaskState.RUNNING or uptime is None:
    return 0.0
  rows = snapshot.rows.get(name, ())
  newest = max((row.get(metric_names.TIME, 0.0) for row in rows), default=0.0)
  return min(uptime, time.time() - newest)


def _describe(
  snapshot: snapshot_lib.Snapshot, name: str, seconds: float
) -> reasons.Reason:
  pid = snapshot.tasks[name].pid
  where = _where(stacks.ask(pid, name))
  if where is None:
    where = f'`py-spy dump --pid {pid}` shows what it does'
  else:
    where = f'It is in {where}'
  return reasons.Reason(
    f'stuck {name}',
    f'{name}, process {pid}, has made no step for {seconds:.0f} s, and waits '
    f'for no server. {where}. After `kill -9 {pid}` the launcher restarts it.',
  )


def _where(threads: Sequence[Sequence[stacks.Frame]]) -> str | None:
  """Returns the newest calls of the thread in which a task does its work."""
  for thread in (*filter(_is_loop, threads), *filter(_is_main, threads)):
    newest, *callers = thread[:_MAX_FRAMES]
    text = f'{newest.name} ({newest.path}:{newest.line})'
    calls = [
      f'{f.name} ({pathlib.Path(f.path).name}:{f.line})' for f in callers
    ]
    return f'{text}, called by {", by ".join(calls)}' if calls else text
  return None


def _is_loop(thread: Sequence[stacks.Frame]) -> bool:
  return any(
    all(
      frame.path.endswith(path) and frame.name == name
      for frame, (path, name) in zip(pair, _LOOP, strict=True)
    )
    for pair in zip(thread, thread[1:], strict=False)
  )


def _is_main(thread: Sequence[stacks.Frame]) -> bool:
  return bool(thread) and thread[-1].name == '<module>'
