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
import mmap
import os
import pathlib
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator

from container import cache_file

_POLL_SECONDS = 0.001
_CURRENT = 'current'


def default_root() -> pathlib.Path:
  """This user's folder, in memory if there is such a place."""
  shared = pathlib.Path('/dev/shm')
  is_usable = shared.is_dir() and os.access(shared, os.W_OK)
  parent = shared if is_usable else pathlib.Path(tempfile.gettempdir())
  return parent / f'launchpad_rl-{os.getuid()}'


def sweep(root: pathlib.Path | None = None) -> None:
  """Removes what crashed programs have left.

  Args:
    root: The cache's folder, this user's if None.
  """
  root = root or default_root()
  if not root.is_dir():
    return
  with _locked(root / '.lock'):
    _sweep(root)


def _sweep(root: pathlib.Path) -> None:
  for folder in root.iterdir():
    if folder.is_dir():
      _remove_if_unused(folder)


def _remove_if_unused(folder: pathlib.Path) -> None:
  descriptor = os.open(folder, os.O_RDONLY)
  try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    shutil.rmtree(folder, ignore_errors=True)
  except BlockingIOError:
    pass
  finally:
    os.close(descriptor)


@contextlib.contextmanager
def _locked(path: pathlib.Path, timeout: float = 10.0) -> Iterator[bool]:
  """Holds a lock file; yields whether it was to be had before the deadline.

  The kernel frees it when its holder dies. It is polled because a blocking
  `flock` knows no deadline.
  """
  descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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


class HostCache:
  """The versions of one table of one server incarnation on this host."""

  def __init__(
    self, identity: bytes, table: str, root: pathlib.Path | None = None
  ):
    """Joins the cache, making it if this process is the first.

    Args:
      identity: The server's.
      table: The table's name.
      root: The folder to work in, this user's if None.

    Raises:
      OSError: there is no right to write, or the folder is another user's.
    """
    root = root or default_root()
    _make_private(root)
    self.identity = identity
    name = f'{identity.hex()}-{table.encode().hex()}'
    self._folder = root / name
    self._current = str(self._folder / _CURRENT)
    with _locked(root / '.lock') as is_locked:
      if not is_locked:
        raise TimeoutError(f'{root}/.lock is held by another process.')
      _sweep(root)
      self._folder.mkdir(mode=0o700, exist_ok=True)
      descriptor = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
      fcntl.flock(descriptor, fcntl.LOCK_SH)
    self._stamp: tuple[int, int] | None = None
    # Freeing a version's memory takes longer than mapping the next. Holding
    # the last two makes their writer pay for that, not a reader that lets go.
    self._held: collections.deque[int] = collections.deque()
    self._leave = weakref.finalize(self, _leave, descriptor, self._folder)

  def close(self) -> None:
    while self._held:
      os.close(self._held.popleft())
    self._leave()

  def has_news(self) -> bool:
    """Whether `current` is another file than was read last: one `stat`."""
    try:
      found = os.stat(self._current)
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
    with contextlib.suppress(FileNotFoundError):
      os.unlink(self._current)

  def read(self) -> cache_file.Entry | None:
    """Maps the current version; None if there is none."""
    try:
      descriptor = os.open(self._current, os.O_RDONLY | os.O_CLOEXEC)
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
    with _locked(self._folder / f'.{role}', timeout) as is_alone:
      try:
        yield is_alone
      finally:
        if is_alone:
          self._draft(role).unlink(missing_ok=True)

  def write(self, role: str, entry: cache_file.Entry) -> None:
    """Drafts a version, which nobody sees yet; needs the claim to the role.

    Raises:
      OSError: there is no room.
    """
    self._held.append(cache_file.write(self._draft(role), entry))
    while len(self._held) > 2:
      os.close(self._held.popleft())

  def publish(self, role: str, entry: cache_file.Entry) -> bool:
    """Lets everybody have what was drafted, unless a later version is there.

    Returns:
      Whether it was published.
    """
    with _locked(self._folder / '.publish') as is_locked:
      if not is_locked or self._has_later_than(entry):
        return False
      os.rename(self._draft(role), self._current)
      return True

  def _draft(self, role: str) -> pathlib.Path:
    return self._folder / f'draft-{role}'

  def _has_later_than(self, entry: cache_file.Entry) -> bool:
    found = cache_file.look(self._current)
    if found is None:
      return False
    return found['index'] > entry.index or found['key'] == entry.key


def _make_private(root: pathlib.Path) -> None:
  root.mkdir(mode=0o700, exist_ok=True)
  found = os.lstat(root)
  is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
  if found.st_uid != os.getuid() or not is_private:
    raise PermissionError(f'{root} is not a private folder of this user.')


def _leave(descriptor: int, folder: pathlib.Path) -> None:
  os.close(descriptor)
  with contextlib.suppress(OSError), _locked(folder.parent / '.lock'):
    _remove_if_unused(folder)
