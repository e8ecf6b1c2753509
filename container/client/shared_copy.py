"""One client's use of the host cache.

A cache belongs to one start of a server, so a client changes to a new cache
when the server has restarted. Where there is no room for a cache or no right to
write one, each process pulls a copy of its own.
"""

import contextlib
from collections.abc import Iterator

from absl import logging

from container.client import connection as connection_lib
from container.client import metrics as metrics_lib
from container.host_cache import cache, entries


class SharedCopy:
  """One process's access to this host's copy of a table."""

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
    """Whether this process has read the current version from the cache."""
    return self._cache is not None and self._cache.is_followed

  def close(self) -> None:
    if self._cache is not None:
      self._cache.close()
      self._cache = None

  def join(self, identity: bytes) -> bool:
    """Changes to the cache of the server that answers now.

    Args:
      identity: The server's identity.

    Returns:
      Whether this is another cache than before. If it is, this process has no
      claim in it.
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
    """Returns the current version; None if it is not new or there is none."""
    try:
      if self._cache is not None and self._cache.has_news():
        return self._cache.read()
    except OSError as error:
      self._leave(error)
    return None

  @contextlib.contextmanager
  def alone(self, role: cache.Role) -> Iterator[None]:
    """Keeps other processes of this host from doing the same work.

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
          f'Another process of this host has been busy for {timeout:g} s with '
          f'its {role.value} of table {self._table_name!r} at '
          f'{self._connection.address}.'
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
    """Goes on without a cache that was removed or damaged."""
    self._fall_back(error)
    self.close()

  def _fall_back(self, error: OSError) -> None:
    if not self._metrics.cache_fallbacks:
      logging.warning(
        'No host cache is used for table %r (%s); each process pulls its own '
        'copy from %s.',
        self._table_name,
        error,
        self._connection.address,
      )
    self._metrics.cache_fallbacks += 1
