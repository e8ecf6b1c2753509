"""The newest values of one table, as one process knows them.

It looks at three sources, the cheapest first: the host cache (one `stat`), the
server's description of the table (one call without payload), and the payload
itself.
"""

import threading
import time

import numpy as np

from container.client import checked_table, shared_copy, versions
from container.client import connection as connection_lib
from container.client import metrics as metrics_lib
from container.host_cache import cache, entries
from reverb_wire import samples, server_info

# Seconds between two questions to the server while a pusher on this host puts
# each version into the cache. A process on another host may push, too.
_CHECK_SECONDS = 1.0


class TableClient:
  """The newest values of one table; callers of methods must hold `lock`.

  Attributes:
    lock: The lock of the threads that share the container.
    table: The table on the server that answers now.
    newest: The newest item that this process knows of.
    arrays: The newest item's leaves, in the order of the signature; None until
      they are read.
    pushed_at: When the newest item was pushed, in seconds since the epoch.
  """

  def __init__(
    self,
    connection: connection_lib.Connection,
    table_name: str,
    server: server_info.ServerInfo,
    metrics: metrics_lib.ContainerMetrics,
    use_cache: bool,
  ):
    self.lock = threading.RLock()
    self.table = checked_table.CheckedTable(connection, table_name, server)
    self.newest = versions.NewestItem()
    self.arrays: list[np.ndarray] | None = None
    self.pushed_at = 0.0
    self._connection = connection
    self._table_name = table_name
    self._metrics = metrics
    self._shared = shared_copy.SharedCopy(
      connection, table_name, metrics, use_cache
    )
    self._is_local = False
    self._checked_at = -_CHECK_SECONDS

  def close(self) -> None:
    self._shared.close()

  def refresh(self, wait: bool, with_values: bool = True) -> None:
    """Finds the newest item.

    Args:
      wait: Whether to wait for the first push to this server.
      with_values: Whether to read the item's values, too.

    Raises:
      ConnectionError: no server answered before the deadline.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: a new server answers, and its table has another signature.
    """
    self.table.steadily(lambda: self._refresh(wait, with_values))

  def _refresh(self, wait: bool, with_values: bool) -> None:
    if self._hit_cache():
      return
    now = time.monotonic()
    if self._follows_pusher() and now - self._checked_at < _CHECK_SECONDS:
      return
    self._metrics.checks += 1
    state = self.table.state()
    self._checked_at = now
    self._shared.join(state.identity)
    if not state.info.size and not wait:
      return
    if self._has(state, with_values) or (
      self._hit_cache() and self._has(state, with_values)
    ):
      return
    if with_values:
      self._pull(state)
    else:
      self._ask(state, with_values)

  def replace(self, arrays: list[np.ndarray], version: int | None) -> int:
    """Puts values into the table, and then into this host's cache.

    Args:
      arrays: The leaves, in the order of the signature.
      version: The values' version; None for the newest version plus one.

    Returns:
      The values' version.

    Raises:
      ConnectionError: no server took the values before the deadline.
      TimeoutError: another process of this host pushed until the deadline.
      ValueError: the version does not rise, or a new server answers, and its
        table has another signature.
    """

    def attempt() -> int:
      with self._shared.alone(cache.Role.PUSH):
        state = self.table.state()
        if self._shared.join(state.identity):
          raise connection_lib.OtherServerError
        return self._replace_alone(state, arrays, version)

    return self.table.steadily(attempt)

  def _replace_alone(
    self,
    state: checked_table.TableState,
    arrays: list[np.ndarray],
    version: int | None,
  ) -> int:
    if state.info.size and not self._has(state, with_values=False):
      self._ask(state, with_values=False)
    if version is None:
      version = self.newest.version + 1
    elif version <= self.newest.version:
      raise ValueError(
        f'Version {version} does not rise: table {self._table_name!r} at '
        f'{self._connection.address} is at {self.newest.version}.'
      )
    key, index = versions.draw_key(state.identity), state.info.inserts + 1
    entry = entries.Entry(
      key, versions.encode(version), index, time.time(), True, arrays
    )
    self.table.insert(
      state.identity,
      entry,
      self._metrics,
      lambda: self._shared.draft(cache.Role.PUSH, entry),
    )
    self._shared.publish(cache.Role.PUSH, entry)
    self.newest.note_pushed(state.identity, key, index, version)
    self.pushed_at = entry.pushed_at
    # The caller may write over its arrays, so a read must fetch the values.
    self.arrays = None
    return version

  def _has(self, state: checked_table.TableState, with_values: bool) -> bool:
    is_read = self.arrays is not None or not with_values
    return is_read and self.newest.is_newest_of(
      state.identity, state.info.inserts
    )

  def _ask(
    self, state: checked_table.TableState, with_values: bool
  ) -> samples.SampleReader | None:
    """Asks the server for its item; returns it if its values must be read."""
    headers = []

    def is_wanted(item: samples.Item) -> bool:
      headers.append(item)
      is_read = item.key == self.newest.key and self.arrays is not None
      return with_values and not is_read

    reader = self.table.sample(state.identity, is_wanted)
    item = headers[-1]
    if item.key == self.newest.key:
      self.newest.identity = state.identity
      self.newest.index = state.info.inserts
    elif not with_values:
      self._take_header(state, item)
    return reader

  def _take_header(
    self, state: checked_table.TableState, item: samples.Item
  ) -> None:
    """Notes a newer item whose values are not read."""
    self._metrics.versions_skipped += self.newest.note_found(
      state.identity, item.key, state.info.inserts, item.priority
    )
    self.arrays, self._is_local = None, False
    self.pushed_at = item.inserted_at

  def _pull(self, state: checked_table.TableState) -> None:
    """Pulls, unless another process of this host has done so by now."""
    with self._shared.alone(cache.Role.PULL):
      if not (self._hit_cache() and self._has(state, with_values=True)):
        self._pull_alone(state)

  def _pull_alone(self, state: checked_table.TableState) -> None:
    reader = self._ask(state, with_values=True)
    if reader is None:
      return
    arrays = self.table.arrays(reader)
    self._metrics.wire_bytes_received += sum(a.nbytes for a in arrays)
    item, index = reader.item, max(1, state.info.inserts)
    entry = entries.Entry(
      item.key, item.priority, index, item.inserted_at, False, arrays
    )
    self._shared.draft(cache.Role.PULL, entry)
    self._shared.publish(cache.Role.PULL, entry)
    if not self._read_cache():
      self._take_entry(state.identity, entry)

  def _take_entry(self, identity: bytes, entry: entries.Entry) -> None:
    if entry.key == self.newest.key:
      self.newest.identity = identity
      self.newest.index = max(self.newest.index, entry.index)
    else:
      self._metrics.versions_skipped += self.newest.note_found(
        identity, entry.key, entry.index, entry.priority
      )
    self.arrays, self._is_local = entry.arrays, entry.is_local
    self.pushed_at = entry.pushed_at

  def _follows_pusher(self) -> bool:
    """Returns whether the next version will be in the host cache first."""
    is_read = self._is_local and self.arrays is not None
    return is_read and self._shared.is_followed

  def _hit_cache(self) -> bool:
    is_hit = self._read_cache()
    self._metrics.cache_hits += is_hit
    return is_hit

  def _read_cache(self) -> bool:
    """Takes the host cache's version; returns whether it was a newer one."""
    entry = self._shared.read_news()
    if entry is None:
      return False
    identity = self._shared.identity
    if identity == self.newest.identity and entry.index < self.newest.index:
      return False
    self._take_entry(identity, entry)
    return True
