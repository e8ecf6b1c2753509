"""The watchdog: says who waits for whom when a run makes no steps."""

import contextlib
import pathlib
import threading
import time
from collections.abc import Callable

from reporting import names
from watchdog import reasons, snapshot

_POLL_SECONDS = 5.0
# What has not changed is said again so often.
_REPEAT_SECONDS = 300.0


class Watchdog:
  """Looks at a run now and then, in a thread of the launcher's."""

  def __init__(
    self,
    run_dir: str | pathlib.Path,
    stuck_after: float,
    print_fn: Callable[[str], None],
  ):
    """Begins to watch.

    Args:
      run_dir: of the run, which need not have begun.
      stuck_after: seconds without a step of any actor, or of the learner, after
        which it speaks.
      print_fn: prints a line.
    """
    self._run_dir = run_dir
    self._stuck_after = stuck_after
    self._print = print_fn
    self._seen: dict[str, tuple[int, float]] = {}
    self._said: tuple[frozenset[str], float] = frozenset(), 0.0
    self._closed = threading.Event()
    self._thread = threading.Thread(
      target=self._watch, name='watchdog', daemon=True
    )
    self._thread.start()

  def __enter__(self) -> 'Watchdog':
    return self

  def __exit__(self, *_) -> None:
    self.close()

  def close(self) -> None:
    """Ends it, soon: a look at a run takes a second at most."""
    self._closed.set()
    self._thread.join()

  def _watch(self) -> None:
    poll = min(_POLL_SECONDS, self._stuck_after / 4)
    while not self._closed.wait(poll):
      # Before its first process runs, a run has no status.
      with contextlib.suppress(FileNotFoundError):
        self._look(snapshot.take(self._run_dir))

  def _look(self, run: snapshot.Snapshot) -> None:
    if not run.launcher['alive'] or run.launcher['state'] != 'running':
      self._seen.clear()
      return
    now, stalls = time.monotonic(), []
    # An episode may take minutes, and is counted at its end.
    acted = run.count(names.ACTOR_STEPS) + run.inserts
    learnt = run.count(names.LEARNER_STEPS)
    if run.with_label('actor'):  # An offline program has none.
      stalls.append(
        self._stall(now, 'actor', acted, run.count(names.ACTOR_STEPS))
      )
    stalls.append(self._stall(now, 'learner', learnt, learnt))
    if not any(stalls):
      self._said = frozenset(), 0.0
      return
    found = reasons.find(run)
    keys = frozenset(reason.key for reason in found)
    said, at = self._said
    rest = _REPEAT_SECONDS if keys == said else self._stuck_after
    if at and now - at < rest:
      return
    self._said = keys, now
    text = ', and '.join(filter(None, stalls))
    self._print(f'{text[0].upper()}{text[1:]}.')
    for reason in found or [_busy(run)]:
      self._print(f'  {reason.text}')

  def _stall(self, now: float, role: str, progress: int, steps: int) -> str:
    """Returns how long a role has made no step, if for too long."""
    before, since = self._seen.get(role, (None, now))
    if progress != before:
      since = now
    self._seen[role] = progress, since
    if now - since < self._stuck_after:
      return ''
    return f'no {role} step for {now - since:.0f} s, after {steps:,}'


def _busy(run: snapshot.Snapshot) -> reasons.Reason:
  """What there is to say when no server holds anybody up."""
  pids = ', '.join(
    f'{name} {run.tasks[name]["pid"]}'
    for label in ('learner', 'actor')
    for name in run.with_label(label)
  )
  return reasons.Reason(
    'busy',
    'All tasks run, all servers answer, and replay holds nobody up: who makes '
    'no step is busy or waits within itself. `py-spy dump --pid PID` shows '
    f'where ({pids}).',
  )
