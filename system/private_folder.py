"""A folder for one process, which is removed even if the process is killed.

The process holds a lock on its folder. The folder of a process that was killed
is not locked any more, and the next process of the same user removes it.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator

from system import stops

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_TEMPORARY = 'tmp'


@contextlib.contextmanager
def folder(kind: str) -> Iterator[str]:
  """Makes a folder in the temporary folder, and removes it at the end.

  Args:
    kind: the beginning of its name. Folders of this kind that no process has
      locked are removed first.

  Yields:
    The path of the folder.
  """
  _sweep(kind)
  parent = tempfile.gettempdir()
  while True:
    # A name is never used again: a process that is late in removing the folder
    # of one try would remove that of the next.
    path = os.path.join(parent, f'{kind}-run-{secrets.token_hex(6)}')
    with contextlib.ExitStack() as stack:
      stack.callback(shutil.rmtree, path, ignore_errors=True)
      stack.enter_context(
        stops.undoing(lambda path=path: shutil.rmtree(path, ignore_errors=True))
      )
      descriptor = _make(path)
      if descriptor is not None:
        stack.callback(os.close, descriptor)
        yield path
        return


def temporary(path: str) -> str:
  """Makes a folder for temporary files in a private folder; returns its path.

  Args:
    path: the private folder's path.
  """
  inner = os.path.join(path, _TEMPORARY)
  os.makedirs(inner, mode=0o700, exist_ok=True)
  return inner


def _make(path: str) -> int | None:
  """Makes a folder and locks it.

  Returns:
    The folder's descriptor, which holds the lock; None if another process has
    removed the folder before it was locked.
  """
  os.mkdir(path, 0o700)
  try:
    descriptor = os.open(path, _OPEN)
  except FileNotFoundError:
    return None
  # A file system may have no locks. There, other processes cannot lock the
  # folder either, and so do not remove it.
  with contextlib.suppress(OSError):
    fcntl.flock(descriptor, fcntl.LOCK_EX)
  if os.path.isdir(path):
    return descriptor
  os.close(descriptor)
  return None


def _sweep(kind: str) -> None:
  with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
    for entry in found:
      if entry.name.startswith(f'{kind}-run-'):
        with contextlib.suppress(OSError):
          _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
  """Removes a folder of this user that no process has locked.

  Raises:
    OSError: a process has locked it, or it is not a folder.
  """
  descriptor = os.open(path, _OPEN)
  try:
    info = os.fstat(descriptor)
    if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o022:
      return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # `rmtree` follows no links, and in the temporary folder other users cannot
    # replace what belongs to this one.
    shutil.rmtree(path, ignore_errors=True)
  finally:
    os.close(descriptor)
