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
  path = os.path.join(parent, f'{kind}-run-{secrets.token_hex(6)}')
  with contextlib.ExitStack() as stack:
    stack.callback(shutil.rmtree, path, ignore_errors=True)
    stack.enter_context(
      stops.undoing(lambda: shutil.rmtree(path, ignore_errors=True))
    )
    stack.callback(os.close, _make(path))
    yield path


def temporary(path: str) -> str:
  """Makes a folder for temporary files in a private folder; returns its path.

  Args:
    path: the private folder's path.
  """
  inner = os.path.join(path, _TEMPORARY)
  os.makedirs(inner, mode=0o700, exist_ok=True)
  return inner


def _make(path: str) -> int:
  """Makes a folder; returns its descriptor, which holds the lock."""
  while True:
    os.mkdir(path, 0o700)
    descriptor = os.open(path, _OPEN)
    # A file system may have no locks. There, other processes cannot lock the
    # folder either, and so do not remove it.
    with contextlib.suppress(OSError):
      fcntl.flock(descriptor, fcntl.LOCK_EX)
    if os.path.isdir(path):
      return descriptor
    # Another process removed it before it was locked.
    os.close(descriptor)


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
