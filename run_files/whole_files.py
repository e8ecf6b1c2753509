"""Writing files, and adding to them, without ever leaving half of it."""

import contextlib
import os
import pathlib
import secrets

UNFINISHED = '.unfinished-'


def write(
  path: str | pathlib.Path, content: bytes | str, durable: bool = True
) -> None:
  """Writes a file at once: readers see all of it, or what was there before.

  Args:
    path: of the file, whose folder must exist. A file of this name is replaced.
    content: bytes, or text that is encoded as UTF-8.
    durable: whether to wait until the disk has it, so that it outlives a
      failure of the machine.

  Raises:
    OSError: it cannot be written; a file that was there is untouched.
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
  """Adds to the end of a file; makes the file if there is none.

  Raises:
    OSError: the content cannot be written; the file is as it was.
  """
  with open(path, 'ab', buffering=0) as f:
    add(f.fileno(), content)


def add(descriptor: int, content: bytes) -> None:
  """Adds to the end of a file that is open for appending, as `append` does.

  Args:
    descriptor: of the open file.
    content: is added.
  """
  end = os.fstat(descriptor).st_size
  rest = memoryview(content)
  try:
    while rest:
      rest = rest[os.write(descriptor, rest) :]
  except BaseException:
    # A full disk takes as much as it has room for.
    with contextlib.suppress(OSError):
      os.ftruncate(descriptor, end)
    raise


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes half-written files, which processes that were killed have left.

  Args:
    folder: where they are. No other process may be writing there.
  """
  for path in folder.glob(f'{UNFINISHED}*'):
    with contextlib.suppress(OSError):
      path.unlink()
