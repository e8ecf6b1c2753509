"""Files that are there whole or not at all, and what is added whole to one."""

import contextlib
import os
import pathlib
import secrets

UNFINISHED = '.unfinished-'


def write(
  path: str | pathlib.Path, content: bytes | str, durable: bool = True
) -> None:
  """Writes a file, in place of one of this name that may be there.

  Args:
    path: of the file; its folder is there.
    content: text as UTF-8.
    durable: whether it is on the disk when this returns, also if the machine
      then fails.

  Raises:
    OSError: it cannot be written; what was there is untouched.
  """
  path = pathlib.Path(path)
  unfinished = path.with_name(f'{UNFINISHED}{secrets.token_hex(8)}')
  try:
    with open(unfinished, 'xb') as f:
      f.write(content.encode() if isinstance(content, str) else content)
      f.flush()
      if durable:
        os.fsync(f.fileno())
    os.replace(unfinished, path)
  except BaseException:
    with contextlib.suppress(OSError):
      os.unlink(unfinished)
    raise


def append(path: str | pathlib.Path, content: bytes) -> None:
  """Adds to the end of a file, which is made if it is not there.

  Raises:
    OSError: it cannot be written; the file is as it was.
  """
  with open(path, 'ab', buffering=0) as f:
    add(f.fileno(), content)


def add(descriptor: int, content: bytes) -> None:
  """As `append`, to a file that is open for that."""
  end = os.fstat(descriptor).st_size
  rest = memoryview(content)
  try:
    while rest:
      rest = rest[os.write(descriptor, rest) :]
  except BaseException:
    # A full disk takes a part of what does not fit.
    with contextlib.suppress(OSError):
      os.ftruncate(descriptor, end)
    raise


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes what processes that were killed left half-written in a folder.

  Args:
    folder: in which no other process writes now.
  """
  for path in folder.glob(f'{UNFINISHED}*'):
    with contextlib.suppress(OSError):
      path.unlink()
