"""The watchdog: prints which task waits for which when a run makes no steps."""

import contextlib
import pathlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from run_files import damage, metric_names, status
from watchdog import reasons, stuck
from watchdog import snapshot as snapshot_lib

_POLL_SECONDS = 5.0
# If nothing has changed, the same lines are printed again after this time.
_REPEAT_SECONDS = 60.0
# Seconds to wait for the watchdog's thread at the end. A look at a run takes a
# second at most, but gRPC waits for ever if the system refuses it a thread.
_END_SECONDS = 5.0


class Watchdog:
  """Looks at a run every few seconds, in a thread of the launcher."""

  def __init__(
    self,
    run_dir: str | pathlib.Path,
    stuck_after: float,
    print_fn: Callable[[str], None],
  ):
    """Begins to watch.

    Args:
      run_dir: the run directory; the run need not have begun.
      stuck_after: it prints what it finds after this many seconds without a
        step of any actor, or of the learner.
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
    """Stops watching, within seconds."""
    self._closed.set()
    self._thread.join(_END_SECONDS)

  def _watch(self) -> None:
    poll = min(_POLL_SECONDS, self._stuck_after / 4)
    while not self._closed.wait(poll):
      # A run has no status before its first process runs.
      with contextlib.suppress(OSError, damage.DamagedError):
        self._look(snapshot_lib.take(self._run_dir))

  def _look(self, snapshot: snapshot_lib.Snapshot) -> None:
    launcher = snapshot.status.launcher
    if not snapshot.status.alive or launcher.state != status.RunState.RUNNING:
      self._seen.clear()
      return
    now = time.monotonic()
    stalls = self._stalls(snapshot, now)
    waits = reasons.find(snapshot)
    idle = stuck.find(snapshot, waits, self._stuck_after)
    news = frozenset(reason.key for reason in idle)
    if not idle:
      news |= {stall.role for stall in stalls}
    keys = news | {reason.key for reason in waits}
    if self._is_due(news, keys, now):
      self._say(stalls, [*idle, *waits])

  def _is_due(
    self, news: frozenset[str], keys: frozenset[str], now: float
  ) -> bool:
    """Returns whether to print now; if so, keeps the keys of what is printed.

    Args:
      news: the keys of the roles and tasks that are stuck. Without any, nothing
        is printed.
      keys: the keys of all that would be printed.
      now: the time by the monotonic clock, in seconds.
    """
    said, said_at = self._said
    if not news:
      self._said = frozenset(), 0.0
      return False
    rest = _REPEAT_SECONDS if keys == said else self._stuck_after
    # A task that has got stuck since the last lines is named at once.
    if news <= said and now - said_at < rest:
      return False
    self._said = keys, now
    return True

  def _say(
    self, stalls: Sequence['_Stall'], causes: Sequence[reasons.Reason]
  ) -> None:
    if stalls:
      text = ', and '.join(stall.text for stall in stalls)
      self._print(f'{text[0].upper()}{text[1:]}.')
    for reason in causes:
      self._print(f'  {reason.text}' if stalls else reason.text)

  def _stalls(
    self, snapshot: snapshot_lib.Snapshot, now: float
  ) -> list['_Stall']:
    """Returns the roles that have made no step for too long."""
    learner_steps = snapshot.count(metric_names.LEARNER_STEPS)
    stalls = [self._stall(now, 'learner', learner_steps, learner_steps)]
    if snapshot.with_label('actor'):  # An offline program has none.
      actor_steps = snapshot.count(metric_names.ACTOR_STEPS)
      # An actor that inserts makes steps, even if its rows are not written.
      progress = actor_steps + snapshot.inserts
      stalls.insert(0, self._stall(now, 'actor', progress, actor_steps))
    return [stall for stall in stalls if stall is not None]

  def _stall(
    self, now: float, role: str, progress: int, steps: int
  ) -> '_Stall | None':
    """Returns a role's stall, if it has made no progress for too long.

    Args:
      now: the time by the monotonic clock, in seconds.
      role: `actor` or `learner`.
      progress: a number that changes whenever the role makes progress.
      steps: the number of steps that the role has made.
    """
    before, since = self._seen.get(role, (None, now))
    if progress != before:
      since = now
    self._seen[role] = progress, since
    if now - since < self._stuck_after:
      return None
    return _Stall(
      role, f'no {role} step for {now - since:.0f} s, after {steps:,}'
    )


class _Stall(NamedTuple):
  """A role that makes no steps: its label, and a clause that says so."""

  role: str
  text: str
