"""Writes a folder of files without ever leaving half of it."""

import ctypes
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping

# These are from <fcntl.h> and <linux/fs.h>.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write(path: str | pathlib.Path, content: Mapping[str, bytes]) -> None:
  """Writes a folder in one step: readers see all of it, or the one before it.

  Args:
    path: the folder's path; its parent must exist. An existing folder is
      replaced.
    content: the files' content by their names.

  Raises:
    OSError: it cannot be written; an existing folder stays as it was.
  """
  path = pathlib.Path(path)
  unfinished = pathlib.Path(
    tempfile.mkdtemp(dir=path.parent, prefix=f'.{path.name}-')
  )
  try:
    for name, data in content.items():
      with open(unfinished / name, 'wb') as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    # `mkdtemp` lets only the owner read it. Other folders are for all to read.
    unfinished.chmod(0o755)
    _put(unfinished, path)
  finally:
    shutil.rmtree(unfinished, ignore_errors=True)


def _put(new: pathlib.Path, path: pathlib.Path) -> None:
  """Moves a folder to a path; an older one there goes to where it was."""
  try:
    os.rename(new, path)
  except OSError:
    if not path.is_dir():
      raise
    _exchange(new, path)


def _exchange(a: pathlib.Path, b: pathlib.Path) -> None:
  """Exchanges two folders, in one step if the file system can."""
  libc = ctypes.CDLL(None, use_errno=True)
  names = os.fsencode(a), os.fsencode(b)
  if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
    older = a.with_name(f'{a.name}-older')
    os.rename(b, older)
    os.rename(a, b)
    os.rename(older, a)
