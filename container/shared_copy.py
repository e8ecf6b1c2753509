"""The host cache as one client of a table uses it, or does without.

A cache belongs to one server incarnation, so it is left for another whenever
the server has restarted; and a host without room for it, or without the right
to write, goes on with a copy in each process.
"""

import contextlib
from collections.abc import Iterator

from absl import logging

from container import cache_file, host_cache, transport


class SharedCopy:
  """This host's copy of one table, for one process."""

  def __init__(
    self,
    connection: transport.Transport,
    table: str,
    metrics: dict[str, float],
    is_wanted: bool,
  ):
    self._connection = connection
    self._table = table
    self._metrics = metrics
    self._is_wanted = is_wanted
    self._cache: host_cache.HostCache | None = None
    self._is_drafted = False

  @property
  def identity(self) -> bytes:
    """Of the server incarnation whose versions are here."""
    return self._cache.identity if self._cache is not None else b''

  @property
  def is_followed(self) -> bool:
    """Whether this process has read what is here, and sees what comes."""
    return self._cache is not None and self._cache.is_followed

  def close(self) -> None:
    if self._cache is not None:
      self._cache.close()
      self._cache = None

  def join(self, identity: bytes) -> bool:
    """Uses the cache of the server incarnation that answers now.

    Returns:
      Whether it is another than before; then nothing is claimed in it.
    """
    if not self._is_wanted or self.identity == identity:
      return False
    if self._cache is not None:
      self._cache.retire()
      self.close()
    try:
      self._cache = host_cache.HostCache(
        identity, self._table, self._connection.address
      )
    except OSError as error:
      self._fall_back(error)
    return self._cache is not None

  def read_news(self) -> cache_file.Entry | None:
    """The current version, None if it was read before or there is none."""
    try:
      if self._cache is not None and self._cache.has_news():
        return self._cache.read()
    except OSError as error:
      self._leave(error)
    return None

  @contextlib.contextmanager
  def alone(self, role: str) -> Iterator[None]:
    """Keeps other processes of this host from the same work meanwhile.

    Args:
      role: 'push' or 'pull'.

    Raises:
      TimeoutError: another one was at it until the deadline.
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
          f'Another process of this host has kept its {role} of table '
          f'{self._table!r} at {self._connection.address} going for '
          f'{timeout:g} s.'
        )
      yield

  def draft(self, role: str, entry: cache_file.Entry) -> None:
    """Lays a version ready for `publish`, if there is room."""
    self._is_drafted = False
    if self._cache is None:
      return
    try:
      self._cache.write(role, entry)
      self._is_drafted = True
    except OSError as error:
      self._fall_back(error)

  def publish(self, role: str, entry: cache_file.Entry) -> None:
    """Lets every process of this host have what was drafted."""
    if self._cache is None or not self._is_drafted:
      return
    try:
      self._cache.publish(role, entry)
    except OSError as error:
      self._leave(error)

  def _leave(self, error: OSError) -> None:
    """Goes on without a cache that somebody has removed or spoilt."""
    self._fall_back(error)
    self.close()

  def _fall_back(self, error: OSError) -> None:
    if not self._metrics['cache_fallbacks']:
      logging.warning(
        'No host cache for table %r (%s); processes pull a copy each from %s.',
        self._table,
        error,
        self._connection.address,
      )
    self._metrics['cache_fallbacks'] += 1
