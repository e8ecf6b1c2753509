"""The versions of one table, which all processes of a host share.

A version is a file. A process writes it as a draft, under another name, and
renames it to `current` once the server has the version. So a reader sees only
whole versions that the server has, even if a process is killed in between. A
mapped file lives until its readers unmap it, so a newer version does not
disturb them. If two processes publish at the same time, a lock lets the later
version win.
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

# The last process to close a version's file frees its memory, which takes
# longer than mapping the next version. The writer keeps this many of its
# versions open, so that the writer spends this time and not a reader.
_HELD_VERSIONS = 2


class Role(enum.Enum):
  """Work that only one process of a host does at a time."""

  PUSH = 'push'
  PULL = 'pull'


class HostCache:
  """This host's versions of one table, for one start of the server.

  Attributes:
    identity: The server's identity, which it draws at each start.
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
      address: The server's address. Caches of servers that had this address
        before are retired.
      root: The folder that contains the folders of all caches; None for the
        default one of this user.

    Raises:
      OSError: this process may not write there, or the folder belongs to
        another user.
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
    """Returns whether `current` has changed since the last read: one `stat`."""
    try:
      found = self._folder.stat(folders.CURRENT)
    except FileNotFoundError:
      self._stamp = None
      return False
    return (found.st_ino, found.st_mtime_ns) != self._stamp

  @property
  def is_followed(self) -> bool:
    """Whether this process has read `current`, and it still existed lately."""
    return self._stamp is not None

  def retire(self) -> None:
    """Removes `current`: the sign for all processes that the server is gone."""
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
    """Makes this process the only one of the host in a role.

    A draft that was not published is removed when the claim ends. If the holder
    was killed, the next holder's draft replaces it.

    Args:
      role: The role.
      timeout: Seconds to wait while another process has the claim.

    Yields:
      Whether this process has the claim.
    """
    with locks.locked(self._folder, f'.{role.value}', timeout) as is_alone:
      try:
        yield is_alone
      finally:
        # A process that finds a new server leaves the cache while it claims it.
        if is_alone and self._leave.alive:
          self._folder.unlink(_draft_name(role))

  def write(self, role: Role, entry: entries.Entry) -> None:
    """Writes a version as a draft, which no reader sees; needs the claim.

    Raises:
      OSError: the file system has no room.
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
    """Makes the draft the current version, unless a later one is current.

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
