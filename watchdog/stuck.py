"""Tasks that make no step though nobody holds them up, and where they stand."""

import pathlib
import time
from collections.abc import Sequence

from run_files import metric_names, status
from system import stacks
from watchdog import reasons, snapshot

# Those whose rows tell of steps.
_ROLES = ('actor', 'learner')
# The others are named.
_MAX_DESCRIBED = 3
_MAX_FRAMES = 4
# Begins the loop of a task, which has a thread to itself.
_LOOP = ('nodes/worker.py', 'run'), ('threading.py', '_bootstrap_inner')


def find(
  run: snapshot.Snapshot, found: Sequence[reasons.Reason], stuck_after: float
) -> list[reasons.Reason]:
  """Returns a reason for each, those at the head with their stacks.

  Args:
    run: what is known of it.
    found: why others wait.
    stuck_after: seconds without a step.
  """
  waiters = {name for reason in found for name in reason.waiters}
  idle = {
    name: seconds
    for role in _ROLES
    for name in run.with_label(role)
    if name not in waiters and (seconds := _idle(run, name)) >= stuck_after
  }
  described = list(idle)[:_MAX_DESCRIBED]
  result = [_describe(run, name, idle[name]) for name in described]
  if others := list(idle)[_MAX_DESCRIBED:]:
    result.append(
      reasons.Reason(
        f'stuck {" ".join(others)}',
        f'{len(others)} more have made no step for as long: '
        f'{reasons.listed(others)}.',
      )
    )
  return result


def _idle(run: snapshot.Snapshot, name: str) -> float:
  """Returns the seconds since a task's newest row, or since its start."""
  task = run.tasks[name]
  uptime = run.status.uptime(task)
  if task.state != status.TaskState.RUNNING or uptime is None:
    return 0.0
  rows = run.rows.get(name, ())
  newest = max((row.get(metric_names.TIME, 0.0) for row in rows), default=0.0)
  return min(uptime, time.time() - newest)


def _describe(
  run: snapshot.Snapshot, name: str, seconds: float
) -> reasons.Reason:
  pid = run.tasks[name].pid
  where = _where(stacks.ask(pid, name))
  if where is None:
    where = f'`py-spy dump --pid {pid}` shows where it stands'
  else:
    where = f'It stands in {where}'
  return reasons.Reason(
    f'stuck {name}',
    f'{name}, process {pid}, has made no step for {seconds:.0f} s, and no '
    f'server holds it up. {where}; `kill -9 {pid}` has it restarted.',
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
