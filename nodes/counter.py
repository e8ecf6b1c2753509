"""The counter: every count of the program, and the rule that stops it."""

import threading
import time
import uuid
from collections.abc import Mapping

import compat  # noqa: F401

import launchpad as lp
from absl import logging
from acme.utils import counting

from nodes import checkpoint

Number = int | float

ACTOR_STEPS = 'actor_steps'


class GlobalCounter:
  """Adds up what the processes report and stops the program at the limit.

  A `Counter` below reports its totals rather than increments, so that a report
  sent twice, or again after this process was restarted, counts once.
  """

  def __init__(
    self,
    max_actor_steps: int | None = None,
    checkpointer: checkpoint.Checkpointer | None = None,
  ):
    """Goes on from the newest checkpoint, or starts at zero.

    Args:
      max_actor_steps: environment steps of all actors together after which the
        program is stopped, or None to run until somebody stops it.
      checkpointer: keeps the counts over a restart.
    """
    self._max_actor_steps = max_actor_steps
    self._checkpointer = checkpointer
    self._lock = threading.Lock()
    self._reports: dict[str, dict[str, Number]] = {}
    self._starts: dict[str, int] = {}
    self._reached = threading.Event()
    state = checkpointer.restore() if checkpointer else None
    if state is not None:
      self._reports, self._starts = state['reports'], state['starts']

  def report(
    self, source: str, totals: Mapping[str, Number]
  ) -> dict[str, Number]:
    """Replaces the totals of `source`; returns the counts of the program."""
    with self._lock:
      self._reports[source] = dict(totals)
    return self.get_counts()

  def begin(self, process: str) -> int:
    """Returns how often `process` has begun before, restarts and resumes alike.

    A process that draws it into its random key repeats no earlier episode.
    """
    with self._lock:
      before = self._starts.get(process, 0)
      self._starts[process] = before + 1
    return before

  def increment(self, **counts: Number) -> dict[str, Number]:
    """Adds `counts`: the interface of Acme's own `counting.Counter`."""
    with self._lock:
      mine = self._reports.setdefault('increments', {})
      for name, value in counts.items():
        mine[name] = mine.get(name, 0) + value
    return self.get_counts()

  def get_counts(self) -> dict[str, Number]:
    """Returns the sum over all sources, by name."""
    with self._lock:
      counts: dict[str, Number] = {}
      for totals in self._reports.values():
        for name, value in totals.items():
          counts[name] = counts.get(name, 0) + value
    limit = self._max_actor_steps
    if limit is not None and counts.get(ACTOR_STEPS, 0) >= limit:
      self._reached.set()
    return counts

  def run(self) -> None:
    """Waits for the limit or a stop; at the limit, stops the program."""
    self.get_counts()
    while not self._reached.is_set():
      if lp.wait_for_stop(0.1):
        return
      if self._checkpointer and self._checkpointer.due():
        self.checkpoint()
    logging.info('Reached %d actor steps.', self._max_actor_steps)
    lp.stop()
    # The counts stay to be read until everyone else has stopped.
    lp.wait_for_stop()

  def checkpoint(self) -> None:
    """Saves the counts, if they are to be kept."""
    if self._checkpointer:
      with self._lock:
        state = {'reports': self._reports, 'starts': self._starts}
        self._checkpointer.save(state)


class Counter(counting.Counter):
  """A process's own counter, whose totals reach the global one exactly once."""

  def __init__(self, parent, prefix: str, time_delta: float = 1.0):
    """Counts under `prefix`.

    Args:
      parent: a client of `GlobalCounter`, or anything with its `report`.
      prefix: counts appear as `<prefix>_<name>`.
      time_delta: seconds between reports; 0 reports each increment.
    """
    super().__init__(parent, prefix, time_delta)
    self._source = f'{prefix}-{uuid.uuid4().hex}'
    self._totals: dict[str, Number] = {}
    self._reported: dict[str, Number] = {}
    self._reported_at = float('-inf')

  def increment(self, **counts: Number) -> dict[str, Number]:
    with self._lock:
      for name, value in counts.items():
        key = f'{self._prefix}_{name}'
        self._totals[key] = self._totals.get(key, 0) + value
    return self.get_counts()

  def get_counts(self) -> dict[str, Number]:
    """Returns the program's counts at the last report, plus ours since then."""
    if time.monotonic() - self._reported_at >= self._time_delta:
      self.sync()
    counts = dict(self._cache)
    with self._lock:
      for name, value in self._totals.items():
        fresh = value - self._reported.get(name, 0)
        counts[name] = counts.get(name, 0) + fresh
    return counts

  def sync(self) -> None:
    """Reports now."""
    with self._lock:
      totals = dict(self._totals)
    self._cache = self._parent.report(self._source, totals)
    self._reported = totals
    self._reported_at = time.monotonic()
