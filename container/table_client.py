"""One table as one process sees it: the newest values, however they came.

Three sources are asked in the order of what they cost: the host cache (one
`stat`), what the server says of the table (one call, no payload), and the
payload itself.
"""

import secrets
import threading
import time

import numpy as np

from container import (
  cache_file,
  checked_table,
  shared_copy,
  transport,
  versions,
)
from reverb_wire import samples, server_info

# A pusher on this host leaves each version in the cache; how often to ask the
# server nevertheless, because somebody elsewhere may have pushed, too.
_CHECK_SECONDS = 1.0

METRICS = (
  *('pushes', 'push_bytes', 'push_seconds', 'wire_bytes_sent'),
  *('pulls', 'pull_bytes', 'pull_seconds', 'wire_bytes_received'),
  *('checks', 'cache_hits', 'cache_fallbacks', 'versions_skipped'),
)


class TableClient:
  """The newest values of one table; `lock` is held by whoever calls.

  Attributes:
    lock: Orders the threads that share the container.
    server: The table, on whatever server is there.
    seen: The newest item known.
    arrays: Its values, None until they are read.
    pushed_at: When it was pushed, in seconds since the epoch.
  """

  def __init__(
    self,
    connection: transport.Transport,
    table: str,
    server: server_info.ServerInfo,
    metrics: dict[str, float],
    use_cache: bool,
  ):
    self.lock = threading.RLock()
    self.server = checked_table.CheckedTable(connection, table, server)
    self.seen = versions.Seen()
    self.arrays: list[np.ndarray] | None = None
    self.pushed_at = 0.0
    self._connection = connection
    self._table = table
    self._metrics = metrics
    self._shared = shared_copy.SharedCopy(connection, table, metrics, use_cache)
    self._is_local = False
    self._checked_at = -_CHECK_SECONDS

  def close(self) -> None:
    self._shared.close()

  def refresh(self, wait: bool, with_values: bool = True) -> None:
    """Learns what is newest.

    Args:
      wait: Whether to wait for the first push to this server.
      with_values: Whether to read its values, too.

    Raises:
      ConnectionError: no server answered before the deadline.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: a server came whose table is another.
    """
    self.server.steadily(lambda: self._refresh(wait, with_values))

  def _refresh(self, wait: bool, with_values: bool) -> None:
    if self._hit_cache():
      return
    now = time.monotonic()
    if self._follows_pusher() and now - self._checked_at < _CHECK_SECONDS:
      return
    self._metrics['checks'] += 1
    state = self.server.state()
    self._checked_at = now
    self._shared.join(state.identity)
    if not state.size and not wait:
      return
    if self._has(state, with_values) or (
      self._hit_cache() and self._has(state, with_values)
    ):
      return
    if with_values:
      self._pull(state)
    else:
      self._ask(state, with_values)

  def push(self, arrays: list[np.ndarray], version: int | None) -> int:
    """Puts values into the table, and then into this host's cache.

    Args:
      arrays: As the signature has them.
      version: Theirs, one more than the newest if None.

    Returns:
      Their version.

    Raises:
      ConnectionError: no server took them before the deadline.
      TimeoutError: another process of this host went on pushing till then.
      ValueError: the version does not rise, or a server came whose table is
        another.
    """

    def attempt() -> int:
      with self._shared.alone('push'):
        state = self.server.state()
        if self._shared.join(state.identity):
          raise transport.OtherServerError
        return self._push_alone(state, arrays, version)

    return self.server.steadily(attempt)

  def _push_alone(
    self,
    state: transport.ServerState,
    arrays: list[np.ndarray],
    version: int | None,
  ) -> int:
    if state.size and not self._has(state, with_values=False):
      self._ask(state, with_values=False)
    if version is None:
      version = self.seen.version + 1
    elif version <= self.seen.version:
      raise ValueError(
        f'Version {version} does not rise: table {self._table!r} at '
        f'{self._connection.address} is at {self.seen.version}.'
      )
    key, index = secrets.randbits(63), state.inserts + 1
    entry = cache_file.Entry(
      key, versions.encode(version), index, time.time(), True, arrays
    )
    self.server.insert(
      state.identity,
      entry,
      self._metrics,
      lambda: self._shared.draft('push', entry),
    )
    self._shared.publish('push', entry)
    self.seen.put(state.identity, key, index, version)
    self.pushed_at = entry.pushed_at
    # The caller may write over its arrays, so a read fetches its own.
    self.arrays = None
    return version

  def _has(self, state: transport.ServerState, with_values: bool) -> bool:
    is_read = self.arrays is not None or not with_values
    return is_read and self.seen.knows(state.identity, state.inserts)

  def _ask(
    self, state: transport.ServerState, with_values: bool
  ) -> samples.SampleReader | None:
    """Asks the server for its item; returns it if it is to be read."""
    headers = []

    def is_wanted(item: samples.Item) -> bool:
      headers.append(item)
      is_read = item.key == self.seen.key and self.arrays is not None
      return with_values and not is_read

    reader = self.server.sample(state.identity, is_wanted)
    item = headers[-1]
    if item.key == self.seen.key:
      self.seen.identity, self.seen.index = state.identity, state.inserts
    elif not with_values:
      self._take(state, item)
    return reader

  def _take(self, state: transport.ServerState, item: samples.Item) -> None:
    """Notes a newer item whose values are not read."""
    self._metrics['versions_skipped'] += self.seen.take(
      state.identity, item.key, state.inserts, item.priority
    )
    self.arrays, self._is_local = None, False
    self.pushed_at = item.inserted_at

  def _pull(self, state: transport.ServerState) -> None:
    """Pulls, unless another process of this host has done so by now."""
    with self._shared.alone('pull'):
      if not (self._hit_cache() and self._has(state, with_values=True)):
        self._pull_alone(state)

  def _pull_alone(self, state: transport.ServerState) -> None:
    reader = self._ask(state, with_values=True)
    if reader is None:
      return
    arrays = self.server.arrays(reader)
    self._metrics['wire_bytes_received'] += sum(a.nbytes for a in arrays)
    item, index = reader.item, max(1, state.inserts)
    entry = cache_file.Entry(
      item.key, item.priority, index, item.inserted_at, False, arrays
    )
    self._shared.draft('pull', entry)
    self._shared.publish('pull', entry)
    if not self._read_cache():
      self._take_entry(state.identity, entry)

  def _take_entry(self, identity: bytes, entry: cache_file.Entry) -> None:
    if entry.key == self.seen.key:
      self.seen.identity = identity
      self.seen.index = max(self.seen.index, entry.index)
    else:
      self._metrics['versions_skipped'] += self.seen.take(
        identity, entry.key, entry.index, entry.priority
      )
    self.arrays, self._is_local = entry.arrays, entry.is_local
    self.pushed_at = entry.pushed_at

  def _follows_pusher(self) -> bool:
    """Whether the next version is sure to show in the host cache first."""
    is_read = self._is_local and self.arrays is not None
    return is_read and self._shared.is_followed

  def _hit_cache(self) -> bool:
    is_hit = self._read_cache()
    self._metrics['cache_hits'] += is_hit
    return is_hit

  def _read_cache(self) -> bool:
    """Takes what the host cache has; returns whether it was news."""
    entry = self._shared.read_news()
    if entry is None:
      return False
    identity = self._shared.identity
    if identity == self.seen.identity and entry.index < self.seen.index:
      return False
    self._take_entry(identity, entry)
    return True
