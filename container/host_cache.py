"""One copy of each version per host, which every process maps.

A version is a file that is drafted under another name and, once the server has
the version, too, renamed to `current`: a reader sees the whole of one version
or of another, and none that the server does not have, whoever is killed when.
A reader's mapping keeps its file alive, so a newer version takes nothing from
it. What is at stake in a race is only which of two whole versions stays, and a
lock settles that in favour of the later one.

Files live in a folder named after the identity that a Reverb server draws when
it starts, so two runs never meet even if one takes the other's port. Whoever
uses a folder holds a shared lock on it; the last to leave removes it, and what
a crash has left is removed by the next program on the host.
"""

import collections
import contextlib
import fcntl
import hashlib
import mmap
import os
import pathlib
import re
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator

from absl import logging

from container import cache_file, private_folder

_POLL_SECONDS = 0.001
_CURRENT = 'current'
_LOCK = '.lock'
_CACHE_NAME = re.compile('[0-9a-f]*-[0-9a-f]*')
# Whether this thread has the lock of a root.
_thread = threading.local()


def default_root() -> pathlib.Path:
  """This user's folder, in memory if there is such a place."""
  shared = pathlib.Path('/dev/shm')
  is_usable = shared.is_dir() and os.access(shared, os.W_OK)
  parent = shared if is_usable else pathlib.Path(tempfile.gettempdir())
  return parent / f'launchpad_rl-{os.geteuid()}'


def sweep(root: pathlib.Path | None = None) -> None:
  """Removes what crashed programs have left.

  Args:
    root: The cache's folder, this user's if None.
  """
  root = root or default_root()
  try:
    with (
      contextlib.closing(
        private_folder.PrivateFolder(root, make=False)
      ) as folder,
      _root_locked(folder) as is_locked,
    ):
      if is_locked:
        _sweep(folder)
  except FileNotFoundError:
    return
  except OSError as error:
    logging.warning('Left %s as it is: %s.', root, error)


def _sweep(root: private_folder.PrivateFolder) -> None:
  for name in root.names():
    _remove_if_unused(root, name)


def _remove_if_unused(root: private_folder.PrivateFolder, name: str) -> None:
  """Removes a cache that nobody has locked; needs the root's lock."""
  # What stands there under a name that no cache has is somebody else's.
  if _CACHE_NAME.fullmatch(name) is None:
    return
  with (
    contextlib.suppress(OSError),
    contextlib.closing(
      private_folder.PrivateFolder(name, root, make=False)
    ) as folder,
  ):
    fcntl.flock(folder.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for inner in folder.names():
      folder.unlink(inner)
    root.rmdir(name)


@contextlib.contextmanager
def _locked(
  folder: private_folder.PrivateFolder, name: str, timeout: float = 10.0
) -> Iterator[bool]:
  """Holds a lock file; yields whether it was to be had before the deadline.

  The kernel frees it when its holder dies. It is polled because a blocking
  `flock` knows no deadline.
  """
  descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
  deadline = time.monotonic() + timeout
  try:
    while True:
      try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
        return
      except BlockingIOError:
        if time.monotonic() > deadline:
          yield False
          return
        time.sleep(_POLL_SECONDS)
  finally:
    os.close(descriptor)


@contextlib.contextmanager
def _root_locked(root: private_folder.PrivateFolder) -> Iterator[bool]:
  """Holds the lock of all caches; yields whether it was to be had.

  Python may collect a cache while its thread has the lock, and would wait here
  for itself. Then the next sweep removes what that cache leaves.
  """
  if getattr(_thread, 'has_root', False):
    yield False
    return
  with _locked(root, _LOCK) as is_locked:
    _thread.has_root = True
    try:
      yield is_locked
    finally:
      _thread.has_root = False


class HostCache:
  """The versions of one table of one server incarnation on this host."""

  def __init__(
    self,
    identity: bytes,
    table: str,
    address: str,
    root: pathlib.Path | None = None,
  ):
    """Joins the cache, making it if this process is the first.

    Args:
      identity: The server's.
      table: The table's name.
      address: Where the server is, and those before it are no more.
      root: The folder to work in, this user's if None.

    Raises:
      OSError: there is no right to write, or the folder is another user's.
    """
    self.identity = identity
    name = f'{identity.hex()}-{table.encode().hex()}'
    with contextlib.ExitStack() as stack:
      parent = private_folder.PrivateFolder(root or default_root())
      stack.callback(parent.close)
      with _root_locked(parent) as is_locked:
        if not is_locked:
          raise TimeoutError(
            f'{parent.path}/{_LOCK} is held by another process'
          )
        _sweep(parent)
        self._folder = private_folder.PrivateFolder(name, parent)
        stack.callback(self._folder.close)
        fcntl.flock(self._folder.descriptor, fcntl.LOCK_SH)
        _retire_others(parent, name, self._folder, address)
      stack.pop_all()
    self._stamp: tuple[int, int] | None = None
    # Freeing a version's memory takes longer than mapping the next. Holding
    # the last two makes their writer pay for that, not a reader that lets go.
    self._held: collections.deque[int] = collections.deque()
    self._leave = weakref.finalize(self, _leave, parent, self._folder, name)

  def close(self) -> None:
    while self._held:
      os.close(self._held.popleft())
    self._leave()

  def has_news(self) -> bool:
    """Whether `current` is another file than was read last: one `stat`."""
    try:
      found = self._folder.stat(_CURRENT)
    except FileNotFoundError:
      self._stamp = None
      return False
    return (found.st_ino, found.st_mtime_ns) != self._stamp

  @property
  def is_followed(self) -> bool:
    """Whether `current` was there, and read, at the last look for news."""
    return self._stamp is not None

  def retire(self) -> None:
    """Tells all who follow this cache that its server is no more."""
    self._folder.unlink(_CURRENT)

  def read(self) -> cache_file.Entry | None:
    """Maps the current version; None if there is none."""
    try:
      descriptor = self._folder.open(_CURRENT, os.O_RDONLY)
    except FileNotFoundError:
      return None
    try:
      found = os.fstat(descriptor)
      memory = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
      os.close(descriptor)
    self._stamp = (found.st_ino, found.st_mtime_ns)
    return cache_file.decode(memory)

  @contextlib.contextmanager
  def claim(self, role: str, timeout: float) -> Iterator[bool]:
    """Makes this process the host's only one in a role.

    What a holder has drafted and not published goes with the claim, or with
    the next one's draft if the holder was killed.

    Args:
      role: 'push' or 'pull'.
      timeout: Seconds to wait for another process.

    Yields:
      Whether it is the only one.
    """
    with _locked(self._folder, f'.{role}', timeout) as is_alone:
      try:
        yield is_alone
      finally:
        # Whoever finds another server leaves this cache within its claim.
        if is_alone and self._leave.alive:
          self._folder.unlink(_draft(role))

  def write(self, role: str, entry: cache_file.Entry) -> None:
    """Drafts a version, which nobody sees yet; needs the claim to the role.

    Raises:
      OSError: there is no room.
    """
    descriptor = self._folder.create(_draft(role))
    try:
      cache_file.write(descriptor, entry)
    except BaseException:
      os.close(descriptor)
      raise
    self._held.append(descriptor)
    while len(self._held) > 2:
      os.close(self._held.popleft())

  def publish(self, role: str, entry: cache_file.Entry) -> bool:
    """Lets everybody have what was drafted, unless a later version is there.

    Returns:
      Whether it was published.
    """
    with _locked(self._folder, '.publish') as is_locked:
      if not is_locked or self._has_later_than(entry):
        return False
      self._folder.rename(_draft(role), _CURRENT)
      return True

  def _has_later_than(self, entry: cache_file.Entry) -> bool:
    try:
      descriptor = self._folder.open(_CURRENT, os.O_RDONLY)
    except FileNotFoundError:
      return False
    try:
      found = cache_file.look(descriptor)
    finally:
      os.close(descriptor)
    return found['index'] > entry.index or found['key'] == entry.key


def _retire_others(
  root: private_folder.PrivateFolder,
  name: str,
  folder: private_folder.PrivateFolder,
  address: str,
) -> None:
  """Retires the caches of servers that were at an address before this one."""
  mark = f'at-{hashlib.sha256(address.encode()).hexdigest()[:16]}'
  os.close(folder.open(mark, os.O_WRONLY | os.O_CREAT))
  table = name.partition('-')[2]
  for other in root.names():
    if other == name or other.partition('-')[2] != table:
      continue
    with (
      contextlib.suppress(OSError),
      contextlib.closing(
        private_folder.PrivateFolder(other, root, make=False)
      ) as found,
    ):
      found.stat(mark)
      found.unlink(_CURRENT)


def _draft(role: str) -> str:
  return f'draft-{role}'


def _leave(
  root: private_folder.PrivateFolder,
  folder: private_folder.PrivateFolder,
  name: str,
) -> None:
  folder.close()
  with (
    contextlib.closing(root),
    contextlib.suppress(OSError),
    _root_locked(root) as is_locked,
  ):
    if is_locked:
      _remove_if_unused(root, name)
