"""How a process counts, and how it reports its counts to the counter."""

import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

import compat  # noqa: F401

import courier
from acme.utils import counting
from courier.python import client as courier_client

from nodes import worker

Number = int | float

# How long one call may take.
_CALL_SECONDS = 5.0
# How long a call waits for a counter that does not answer, as in a restart.
_AWAY_SECONDS = 60.0
# How long the counter's disk may be full. A person may need that long to make
# room.
_FULL_SECONDS = 300.0
_RETRY_SECONDS, _FULL_RETRY_SECONDS = 0.1, 0.5
# An error with one of these codes is the counter's answer. A second call would
# get the same one.
_FINAL_CODES = ('INVALID_ARGUMENT', 'NOT_FOUND')


class CounterClient:
  """Calls a `counter.GlobalCounter` in another process.

  A call waits while the counter is restarted.

  Attributes:
    away_seconds: how many seconds a call waits if the counter does not answer.
    full_seconds: how many seconds a call waits if the counter's disk is full.
  """

  def __init__(self, address: str, away_seconds: float = _AWAY_SECONDS):
    """Makes a client, which connects at its first call.

    Args:
      address: host and port of the counter's Courier server.
      away_seconds: how many seconds a call waits if the counter does not
        answer.
    """
    self._client = courier.Client(address, call_timeout=_CALL_SECONDS)
    self.away_seconds = away_seconds
    self.full_seconds = _FULL_SECONDS
    self._increments = Counter(self, '', time_delta=0.0)

  def report(
    self, source: str, totals: Mapping[str, Number]
  ) -> dict[str, Number]:
    """Calls `GlobalCounter.report`, and waits until the totals are saved.

    Raises:
      ConnectionError: the counter stays away, or its disk stays full.
    """
    return self._call('report', source, dict(totals))

  def begin(self, process: str) -> int:
    """Calls `GlobalCounter.begin`, and waits until the start is saved.

    Raises:
      ConnectionError: the counter stays away, or its disk stays full.
    """
    return self._call('begin', process)

  def get_counts(self) -> dict[str, Number]:
    """Returns the counts of the program, by name.

    Raises:
      ConnectionError: the counter stays away.
    """
    return self._call('get_counts')

  def increment(self, **counts: Number) -> dict[str, Number]:
    """Adds `counts`. Acme's `counting.Counter` calls this on its parent."""
    return self._increments.increment(**counts)

  def _call(self, method: str, *args: Any) -> Any:
    began = time.monotonic()
    while True:
      try:
        answer = getattr(self._client, method)(*args)
        if answer is not None:
          return answer
        error, limit = None, self.full_seconds
        failed = f'could not save {method!r} on its disk'
      except courier_client.StatusNotOk as e:
        if e.code.name in _FINAL_CODES:
          raise
        error, limit = e, self.away_seconds
        failed = f'did not answer {method!r}'
      if time.monotonic() > began + limit:
        reason = f' ({error})' if error else ''
        raise ConnectionError(
          f'The counter at {self._client.address} {failed} for '
          f'{limit:g} s{reason}. The output of the counter says why.'
        ) from error
      worker.check()
      time.sleep(_RETRY_SECONDS if error else _FULL_RETRY_SECONDS)


class Counter(counting.Counter):
  """The counter of one process, which reports its totals to the global one."""

  def __init__(self, parent, prefix: str, time_delta: float = 1.0):
    """Starts at zero.

    Args:
      parent: a client of `GlobalCounter`, or an object with the same `report`.
      prefix: counts are named `<prefix>_<name>`, or `<name>` if this is empty.
      time_delta: seconds between reports; 0 reports each increment.
    """
    super().__init__(parent, prefix, time_delta)
    self._reports_to = parent
    self._key_prefix = f'{prefix}_' if prefix else ''
    self._every_seconds = time_delta
    self._source = f'{prefix}-{uuid.uuid4().hex}'
    self._totals: dict[str, Number] = {}
    self._totals_lock = threading.Lock()
    # This process's totals and the program's counts, both at the last report.
    self._reported: dict[str, Number] = {}
    self._counts_of_all: dict[str, Number] = {}
    self._reported_at = float('-inf')

  def increment(self, **counts: Number) -> dict[str, Number]:
    """Adds to the totals; returns what `get_counts` returns."""
    with self._totals_lock:
      for name, value in counts.items():
        key = self._key_prefix + name
        self._totals[key] = self._totals.get(key, 0) + value
    return self.get_counts()

  def get_counts(self) -> dict[str, Number]:
    """Returns the program's counts, and reports if a report is due.

    They are the counts at the last report, plus what this process has counted
    since then.
    """
    if time.monotonic() - self._reported_at >= self._every_seconds:
      self.sync()
    return self.known_counts()

  def known_counts(self) -> dict[str, Number]:
    """Returns the same counts as `get_counts`, but never reports."""
    counts = dict(self._counts_of_all)
    with self._totals_lock:
      for name, value in self._totals.items():
        fresh = value - self._reported.get(name, 0)
        counts[name] = counts.get(name, 0) + fresh
    return counts

  def finish(self, away_seconds: float) -> None:
    """Makes a last report, if there are counts that were not reported yet.

    Args:
      away_seconds: how many seconds to wait if the counter does not answer or
        cannot save.

    Raises:
      ConnectionError: the counter did not take the report. The counts since the
        last report are lost.
    """
    client = self._reports_to
    client.away_seconds = client.full_seconds = away_seconds
    if self._totals != self._reported:
      self.sync()

  def sync(self) -> None:
    """Reports the totals now."""
    with self._totals_lock:
      totals = dict(self._totals)
    self._counts_of_all = self._reports_to.report(self._source, totals)
    self._reported = totals
    self._reported_at = time.monotonic()
