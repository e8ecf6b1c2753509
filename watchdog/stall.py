"""The watchdog: says who waits for whom when a run makes no steps."""

import contextlib
import pathlib
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from run_files import damage, metric_names, status
from watchdog import reasons, snapshot, stuck

_POLL_SECONDS = 5.0
# What has not changed is said again so often.
_REPEAT_SECONDS = 60.0
# A look at a run takes a second at most; but gRPC that is refused a thread may
# wait for ever.
_END_SECONDS = 5.0


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
    """Ends it, soon."""
    self._closed.set()
    self._thread.join(_END_SECONDS)

  def _watch(self) -> None:
    poll = min(_POLL_SECONDS, self._stuck_after / 4)
    while not self._closed.wait(poll):
      # Before its first process runs, a run has no status.
      with contextlib.suppress(OSError, damage.DamagedError):
        self._look(snapshot.take(self._run_dir))

  def _look(self, run: snapshot.Snapshot) -> None:
    if not (
      run.status.alive and run.status.launcher.state == status.RunState.RUNNING
    ):
      self._seen.clear()
      return
    now, stalls = time.monotonic(), []
    # What an actor inserts counts where its own rows do not come.
    acted = run.count(metric_names.ACTOR_STEPS) + run.inserts
    learnt = run.count(metric_names.LEARNER_STEPS)
    if run.with_label('actor'):  # An offline program has none.
      stalls.append(
        self._stall(now, 'actor', acted, run.count(metric_names.ACTOR_STEPS))
      )
    stalls.append(self._stall(now, 'learner', learnt, learnt))
    stalls = list(filter(None, stalls))
    found = reasons.find(run)
    idle = stuck.find(run, found, self._stuck_after)
    # Whoever has stopped since it spoke last is named at once.
    news = frozenset(reason.key for reason in idle)
    if not idle:
      news |= {stall.role for stall in stalls}
    keys = news | {reason.key for reason in found}
    said, at = self._said
    if not news:
      self._said = frozenset(), 0.0
      return
    rest = _REPEAT_SECONDS if keys == said else self._stuck_after
    if news <= said and now - at < rest:
      return
    self._said = keys, now
    if stalls:
      text = ', and '.join(stall.text for stall in stalls)
      self._print(f'{text[0].upper()}{text[1:]}.')
    for reason in [*idle, *found]:
      self._print(f'  {reason.text}' if stalls else reason.text)

  def _stall(
    self, now: float, role: str, progress: int, steps: int
  ) -> '_Stall | None':
    """Returns how long a role has made no step, if for too long."""
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
  """A role that makes no steps: its label, and words for it."""

  role: str
  text: str
