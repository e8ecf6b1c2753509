"""The versions of one table, which all processes of a host share.

A version is a file. It is drafted under another name and, once the server has
the version, too, renamed to `current`. So a reader sees the whole of one
version or of another, and none that the server does not have, whichever process
is killed at whatever moment. A reader's mapping keeps its file alive, so a
newer version takes nothing from it. A race can only be about which of two whole
versions stays, and a lock settles it in favour of the later one.
"""

import collections
import contextlib
import enum
import mmap
import os
import pathlib
import weakref
from collections.abc import Iterator

from container.host_cache import entries, folders, locks

# Freeing a version's memory takes longer than mapping the next. The writer of
# the last two holds them, so that it pays for that in place of a reader.
_HELD_VERSIONS = 2


class Role(enum.Enum):
  """What one process of a host does at a time."""

  PUSH = 'push'
  PULL = 'pull'


class HostCache:
  """The versions of one table of one start of a server, on this host.

  Attributes:
    identity: The server's identity.
  """

  def __init__(
    self,
    identity: bytes,
    table_name: str,
    address: str,
    root: pathlib.Path | None = None,
  ):
    """Joins the cache, and makes it if this process is the first.

    Args:
      identity: The server's identity.
      table_name: The table's name.
      address: The server's address; those that were there before it are gone.
      root: The folder that has a folder for each cache; None for this user's.

    Raises:
      OSError: this process may not write there, or the folder is another
        user's.
    """
    self.identity = identity
    parent, self._folder = folders.join(root, identity, table_name, address)
    # The file that was read last.
    self._stamp: tuple[int, int] | None = None
    self._held: collections.deque[int] = collections.deque()
    self._leave = weakref.finalize(self, folders.leave, parent, self._folder)

  def close(self) -> None:
    while self._held:
      os.close(self._held.popleft())
    self._leave()

  def has_news(self) -> bool:
    """Whether `current` is another file than was read last: one `stat`."""
    try:
      found = self._folder.stat(folders.CURRENT)
    except FileNotFoundError:
      self._stamp = None
      return False
    return (found.st_ino, found.st_mtime_ns) != self._stamp

  @property
  def is_followed(self) -> bool:
    """Whether `current` existed, and was read, at the last look for news."""
    return self._stamp is not None

  def retire(self) -> None:
    """Tells all processes that follow this cache that its server is gone."""
    self._folder.unlink(folders.CURRENT)

  def read(self) -> entries.Entry | None:
    """Maps the current version; None if there is none."""
    try:
      descriptor = self._folder.open(folders.CURRENT, os.O_RDONLY)
    except FileNotFoundError:
      return None
    try:
      found = os.fstat(descriptor)
      memory = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
      os.close(descriptor)
    self._stamp = (found.st_ino, found.st_mtime_ns)
    return entries.decode(memory)

  @contextlib.contextmanager
  def claim(self, role: Role, timeout: float) -> Iterator[bool]:
    """Makes this process the host's only one in a role.

    What a holder has drafted and not published is removed with the claim, or by
    the next holder's draft if the holder was killed.

    Args:
      role: The role.
      timeout: Seconds to wait for another process.

    Yields:
      Whether it is the only one.
    """
    with locks.locked(self._folder, f'.{role.value}', timeout) as is_alone:
      try:
        yield is_alone
      finally:
        # A process that finds another server leaves the cache within its claim.
        if is_alone and self._leave.alive:
          self._folder.unlink(_draft_name(role))

  def write(self, role: Role, entry: entries.Entry) -> None:
    """Drafts a version, which no reader sees yet; needs the claim to the role.

    Raises:
      OSError: there is no room.
    """
    descriptor = self._folder.create(_draft_name(role))
    try:
      entries.write(descriptor, entry)
    except BaseException:
      os.close(descriptor)
      raise
    self._held.append(descriptor)
    while len(self._held) > _HELD_VERSIONS:
      os.close(self._held.popleft())

  def publish(self, role: Role, entry: entries.Entry) -> bool:
    """Shows what was drafted to every reader, unless a later version is there.

    Returns:
      Whether it was published.
    """
    with locks.locked(self._folder, '.publish') as is_locked:
      if not is_locked or self._has_later_than(entry):
        return False
      self._folder.rename(_draft_name(role), folders.CURRENT)
      return True

  def _has_later_than(self, entry: entries.Entry) -> bool:
    try:
      descriptor = self._folder.open(folders.CURRENT, os.O_RDONLY)
    except FileNotFoundError:
      return False
    try:
      found = entries.read_header(descriptor)
    finally:
      os.close(descriptor)
    return found.index > entry.index or found.key == entry.key


def _draft_name(role: Role) -> str:
  return f'draft-{role.value}'
