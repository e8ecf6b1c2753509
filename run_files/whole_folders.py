"""Writing a folder of files without ever leaving half of it."""

import ctypes
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping

# These are from <fcntl.h> and <linux/fs.h>.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write(path: str | pathlib.Path, content: Mapping[str, bytes]) -> None:
  """Writes a folder at once: readers see all of it, or what was there before.

  Args:
    path: of the folder, whose parent must exist. A folder of this name is
      replaced.
    content: the files' content by their names.

  Raises:
    OSError: it cannot be written; a folder that was there is untouched.
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
    # Others than the owner may read it, as they may any other folder.
    unfinished.chmod(0o755)
    _put(unfinished, path)
  finally:
    shutil.rmtree(unfinished, ignore_errors=True)


def _put(new: pathlib.Path, path: pathlib.Path) -> None:
  """Gives a folder its name; an older one of that name takes its place."""
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
