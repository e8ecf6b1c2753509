"""A folder of one process's own, of which nothing is left.

The process has it locked. What one that was killed has left is not locked any
more, and the next of the same user removes it.
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
  """Makes one in the temporary folder, and yields its path.

  Args:
    kind: begins its name. Those of this kind that nobody has are removed.
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
  """Returns where in such a folder programs may put temporary files."""
  inner = os.path.join(path, _TEMPORARY)
  os.makedirs(inner, mode=0o700, exist_ok=True)
  return inner


def _make(path: str) -> int:
  """Makes a folder; returns its descriptor, which has it locked."""
  while True:
    os.mkdir(path, 0o700)
    descriptor = os.open(path, _OPEN)
    # Not every file system can; then nobody removes it either.
    with contextlib.suppress(OSError):
      fcntl.flock(descriptor, fcntl.LOCK_EX)
    if os.path.isdir(path):
      return descriptor
    # Somebody who sweeps was here first.
    os.close(descriptor)


def _sweep(kind: str) -> None:
  with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
    for entry in found:
      if entry.name.startswith(f'{kind}-run-'):
        with contextlib.suppress(OSError):
          _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
  """Removes a folder of this user's that no process has.

  Raises:
    OSError: a process has it, or it is no folder.
  """
  descriptor = os.open(path, _OPEN)
  try:
    told = os.fstat(descriptor)
    if told.st_uid != os.getuid() or stat.S_IMODE(told.st_mode) & 0o022:
      return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # Follows no links. In the temporary folder nobody else can put another in
    # the place of what is this user's.
    shutil.rmtree(path, ignore_errors=True)
  finally:
    os.close(descriptor)
