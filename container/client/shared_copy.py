"""The host cache as one client of a table uses it, or does without it.

A cache belongs to one start of a server, so a client leaves it for another one
whenever the server has restarted. On a host that has no room for a cache, or no
right to write one, each process goes on with its own copy.
"""

import contextlib
from collections.abc import Iterator

from absl import logging

from container.client import connection as connection_lib
from container.client import metrics as metrics_lib
from container.host_cache import cache, entries


class SharedCopy:
  """This host's copy of one table, for one process."""

  def __init__(
    self,
    connection: connection_lib.Connection,
    table_name: str,
    metrics: metrics_lib.ContainerMetrics,
    is_wanted: bool,
  ):
    self._connection = connection
    self._table_name = table_name
    self._metrics = metrics
    self._is_wanted = is_wanted
    self._cache: cache.HostCache | None = None
    self._is_drafted = False

  @property
  def identity(self) -> bytes:
    """The identity of the server whose versions the cache holds."""
    return self._cache.identity if self._cache is not None else b''

  @property
  def is_followed(self) -> bool:
    """Whether this process has read the current version, and sees the next."""
    return self._cache is not None and self._cache.is_followed

  def close(self) -> None:
    if self._cache is not None:
      self._cache.close()
      self._cache = None

  def join(self, identity: bytes) -> bool:
    """Uses the cache of the server that answers now.

    Args:
      identity: The server's identity.

    Returns:
      Whether it is another cache than before; then nothing is claimed in it.
    """
    if not self._is_wanted or self.identity == identity:
      return False
    if self._cache is not None:
      self._cache.retire()
      self.close()
    try:
      self._cache = cache.HostCache(
        identity, self._table_name, self._connection.address
      )
    except OSError as error:
      self._fall_back(error)
    return self._cache is not None

  def read_news(self) -> entries.Entry | None:
    """The current version; None if it was read before or there is none."""
    try:
      if self._cache is not None and self._cache.has_news():
        return self._cache.read()
    except OSError as error:
      self._leave(error)
    return None

  @contextlib.contextmanager
  def alone(self, role: cache.Role) -> Iterator[None]:
    """Keeps other processes of this host from the same work meanwhile.

    Args:
      role: The work.

    Raises:
      TimeoutError: another process did the work until the deadline.
    """
    timeout = self._connection.timeout
    with contextlib.ExitStack() as stack:
      is_alone = True
      try:
        if self._cache is not None:
          is_alone = stack.enter_context(self._cache.claim(role, timeout))
      except OSError as error:
        self._leave(error)
      if not is_alone:
        raise TimeoutError(
          f'Another process of this host has kept its {role.value} of table '
          f'{self._table_name!r} at {self._connection.address} going for '
          f'{timeout:g} s.'
        )
      yield

  def draft(self, role: cache.Role, entry: entries.Entry) -> None:
    """Prepares a version for `publish`, if there is room."""
    self._is_drafted = False
    if self._cache is None:
      return
    try:
      self._cache.write(role, entry)
      self._is_drafted = True
    except OSError as error:
      self._fall_back(error)

  def publish(self, role: cache.Role, entry: entries.Entry) -> None:
    """Shows the drafted version to every process of this host."""
    if self._cache is None or not self._is_drafted:
      return
    try:
      self._cache.publish(role, entry)
    except OSError as error:
      self._leave(error)

  def _leave(self, error: OSError) -> None:
    """Goes on without a cache that was removed or spoilt."""
    self._fall_back(error)
    self.close()

  def _fall_back(self, error: OSError) -> None:
    if not self._metrics.cache_fallbacks:
      logging.warning(
        'No host cache for table %r (%s); processes pull a copy each from %s.',
        self._table_name,
        error,
        self._connection.address,
      )
    self._metrics.cache_fallbacks += 1
