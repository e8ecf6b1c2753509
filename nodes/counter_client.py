"""How other processes count, and report what they counted to the counter."""

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
# How long a counter may be away, which is being restarted.
_AWAY_SECONDS = 60.0
# How long its disk may be full: a person may need as long to make room.
_FULL_SECONDS = 300.0
_RETRY_SECONDS, _FULL_RETRY_SECONDS = 0.1, 0.5
# With these codes the counter has answered, and would answer the same again.
_FINAL_CODES = ('INVALID_ARGUMENT', 'NOT_FOUND')


class CounterClient:
  """Calls a `counter.GlobalCounter` in another process, across its restarts.

  Attributes:
    away_seconds: seconds that a call waits for a counter that does not answer.
    full_seconds: seconds that a call waits for a counter whose disk is full.
  """

  def __init__(self, address: str, away_seconds: float = _AWAY_SECONDS):
    """Connects at the first call.

    Args:
      address: host and port of the counter's Courier server.
      away_seconds: see the attribute.
    """
    self._client = courier.Client(address, call_timeout=_CALL_SECONDS)
    self.away_seconds = away_seconds
    self.full_seconds = _FULL_SECONDS
    self._increments = Counter(self, '', time_delta=0.0)

  def report(
    self, source: str, totals: Mapping[str, Number]
  ) -> dict[str, Number]:
    """Does what `GlobalCounter.report` does, and waits until it is saved.

    Raises:
      ConnectionError: the counter stays away, or its disk stays full.
    """
    return self._call('report', source, dict(totals))

  def begin(self, process: str) -> int:
    """Does what `GlobalCounter.begin` does, and waits until it is saved.

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
    """Adds `counts`, as Acme's own `counting.Counter` asks of its parent."""
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
          f'{limit:g} s{reason}. Its own output says why.'
        ) from error
      worker.check()
      time.sleep(_RETRY_SECONDS if error else _FULL_RETRY_SECONDS)


class Counter(counting.Counter):
  """A process's own counter; the global one counts its totals exactly once."""

  def __init__(self, parent, prefix: str, time_delta: float = 1.0):
    """Counts under `prefix`.

    Args:
      parent: a client of `GlobalCounter`, or anything with its `report`.
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
    # The totals at the last report, and what the program's counts were then.
    self._reported: dict[str, Number] = {}
    self._counts_of_all: dict[str, Number] = {}
    self._reported_at = float('-inf')

  def increment(self, **counts: Number) -> dict[str, Number]:
    """Adds to the totals; returns what `get_counts` does."""
    with self._totals_lock:
      for name, value in counts.items():
        key = self._key_prefix + name
        self._totals[key] = self._totals.get(key, 0) + value
    return self.get_counts()

  def get_counts(self) -> dict[str, Number]:
    """Returns the program's counts at the last report, plus ours since then."""
    if time.monotonic() - self._reported_at >= self._every_seconds:
      self.sync()
    return self.known_counts()

  def known_counts(self) -> dict[str, Number]:
    """Returns the same as `get_counts`, and never reports."""
    counts = dict(self._counts_of_all)
    with self._totals_lock:
      for name, value in self._totals.items():
        fresh = value - self._reported.get(name, 0)
        counts[name] = counts.get(name, 0) + fresh
    return counts

  def finish(self, away_seconds: float) -> None:
    """Reports what was not reported yet, to a counter that may be away.

    Args:
      away_seconds: how long to wait for a counter that does not answer.

    Raises:
      ConnectionError: it did not answer, and these counts are lost.
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
