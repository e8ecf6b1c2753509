"""Files that are there whole or not at all."""

import contextlib
import os
import pathlib
import tempfile

UNFINISHED = '.unfinished-'


def write(path: str | pathlib.Path, content: bytes | str) -> None:
  """Writes a file, in place of one of this name that may be there.

  It is on the disk when this returns, also if the machine then fails.

  Args:
    path: of the file; its folder is there.
    content: text as UTF-8.

  Raises:
    OSError: it cannot be written; what was there is untouched.
  """
  path = pathlib.Path(path)
  data = content.encode() if isinstance(content, str) else content
  with tempfile.NamedTemporaryFile(
    dir=path.parent, prefix=UNFINISHED, delete=False
  ) as f:
    try:
      f.write(data)
      f.flush()
      os.fsync(f.fileno())
      os.replace(f.name, path)
    except BaseException:
      with contextlib.suppress(OSError):
        os.unlink(f.name)
      raise


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes what processes that were killed left half-written in a folder.

  Args:
    folder: in which no other process writes now.
  """
  for path in folder.glob(f'{UNFINISHED}*'):
    with contextlib.suppress(OSError):
      path.unlink()
