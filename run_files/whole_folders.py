"""A folder of files that appears whole, or is replaced as a whole."""

import ctypes
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping

# Of <fcntl.h> and <linux/fs.h>.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write(path: str | pathlib.Path, content: Mapping[str, bytes]) -> None:
  """Writes a folder, in place of one of this name that may be there.

  Args:
    path: of the folder; its parent is there.
    content: of each file, by name.

  Raises:
    OSError: it cannot be written; what was there is untouched.
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
    # For others than the owner as well, as other folders are.
    unfinished.chmod(0o755)
    _put(unfinished, path)
  finally:
    shutil.rmtree(unfinished, ignore_errors=True)


def _put(new: pathlib.Path, path: pathlib.Path) -> None:
  """Gives a folder its name; an older one of that name is where it was."""
  try:
    os.rename(new, path)
  except OSError:
    if not path.is_dir():
      raise
    _exchange(new, path)


def _exchange(a: pathlib.Path, b: pathlib.Path) -> None:
  """Exchanges two folders, at once if the file system can."""
  libc = ctypes.CDLL(None, use_errno=True)
  names = os.fsencode(a), os.fsencode(b)
  if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
    older = a.with_name(f'{a.name}-older')
    os.rename(b, older)
    os.rename(a, b)
    os.rename(older, a)
