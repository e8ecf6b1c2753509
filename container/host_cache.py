"""One copy of each version per host, which every process maps.

A version is a file that is written under a name of its own and then renamed
over `current`: a reader sees the whole of one version or of another, whoever
is killed when. A reader's mapping keeps its file alive, so a newer version
takes nothing from it. What is at stake in a race is only which of two whole
versions stays, and a lock settles that in favour of the later one.

Files live in a folder named after the identity that a Reverb server draws when
it starts, so two runs never meet even if one takes the other's port. Whoever
uses a folder holds a shared lock on it; the last to leave removes it, and what
a crash has left is removed by the next program on the host.
"""

import collections
import contextlib
import fcntl
import json
import mmap
import os
import pathlib
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

_ALIGNMENT = 64  # JAX shares an array's memory on a CPU only if aligned so.
_POLL_SECONDS = 0.001
_CURRENT = 'current'


class Entry(NamedTuple):
  """One version, as the cache holds it.

  Attributes:
    key: The item's on the server.
    priority: The item's, which holds its version.
    index: How many items the server had taken when this one was in.
    pushed_at: Seconds since the epoch.
    is_local: Whether the pusher itself left it, before the server has it.
    arrays: Read-only, one a leaf.
  """

  key: int
  priority: float
  index: int
  pushed_at: float
  is_local: bool
  arrays: list[np.ndarray]


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

  def read(self) -> Entry | None:
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
    return _decode(memory)

  def write(self, entry: Entry) -> bool:
    """Publishes a version unless a later one is there.

    Returns:
      Whether it was published.

    Raises:
      OSError: there is no room.
    """
    path = self._folder / f'{os.getpid()}-{entry.key:x}'
    try:
      self._held.append(_write_file(path, entry))
      while len(self._held) > 2:
        os.close(self._held.popleft())
      with _locked(self._folder / '.write') as is_locked:
        if not is_locked or self._has_later_than(entry):
          return False
        os.rename(path, self._current)
        return True
    finally:
      path.unlink(missing_ok=True)

  def _has_later_than(self, entry: Entry) -> bool:
    try:
      with open(self._current, 'rb') as file:
        header = _decode_header(file.read(8192))[0]
    except FileNotFoundError:
      return False
    # A pusher writes before its item is in: on a tie the later push is right.
    return header['index'] > entry.index or header['key'] == entry.key

  def pulling(self, timeout: float) -> Any:
    """A lock for the one reader of this host that pulls a new version."""
    return _locked(self._folder / '.pull', timeout)


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


def _aligned(size: int) -> int:
  return -(-size // _ALIGNMENT) * _ALIGNMENT


def _encode_header(entry: Entry) -> bytes:
  header = {
    'key': entry.key,
    'priority': entry.priority,
    'index': entry.index,
    'pushed_at': entry.pushed_at,
    'is_local': entry.is_local,
    'leaves': [(array.dtype.name, array.shape) for array in entry.arrays],
  }
  # The fixed fields come first, so that a look at them need not read it all.
  text = json.dumps(header, separators=(',', ':')).encode()
  return len(text).to_bytes(8, 'little') + text


def _decode_header(memory: Any) -> tuple[dict[str, Any], int]:
  length = int.from_bytes(memory[:8], 'little')
  text = bytes(memory[8 : 8 + length])
  if len(text) < length:
    text = text[: text.index(b',"leaves"')] + b'}'
  return json.loads(text), _aligned(8 + length)


def _write_file(path: pathlib.Path, entry: Entry) -> int:
  """Writes a version; returns the open file."""
  header = _encode_header(entry)
  size = _aligned(len(header)) + sum(
    _aligned(array.nbytes) for array in entry.arrays
  )
  descriptor = os.open(
    path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
  )
  try:
    # Not through a mapping, where a full disk would be a signal, not an error.
    os.truncate(descriptor, size)
    _write_at(descriptor, header, 0)
    at = _aligned(len(header))
    for array in entry.arrays:
      _write_at(descriptor, array.reshape(-1).view(np.uint8), at)
      at += _aligned(array.nbytes)
  except BaseException:
    os.close(descriptor)
    raise
  return descriptor


def _write_at(descriptor: int, data: Any, at: int) -> None:
  view = memoryview(data)
  while view:
    written = os.pwrite(descriptor, view, at)
    view, at = view[written:], at + written


def _decode(memory: mmap.mmap) -> Entry:
  header, at = _decode_header(memory)
  arrays = _map_arrays(memory, header.pop('leaves'), at)
  return Entry(**header, arrays=arrays)


def _map_arrays(
  memory: mmap.mmap, leaves: Sequence[tuple[str, list[int]]], at: int
) -> list[np.ndarray]:
  arrays = []
  for name, shape in leaves:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    count = int(np.prod(shape, dtype=np.int64))
    array = np.frombuffer(memory, dtype, count, at if count else 0)
    arrays.append(array.reshape(shape))
    at += _aligned(array.nbytes)
  return arrays
