"""Writes files, and adds to them, without ever leaving half of the content."""

import contextlib
import os
import pathlib
import secrets

UNFINISHED = '.unfinished-'


def write(
  path: str | pathlib.Path, content: bytes | str, durable: bool = True
) -> None:
  """Writes a file in one step: readers see all of it, or the file before it.

  Args:
    path: the file's path; its folder must exist. An existing file is replaced.
    content: bytes, or text that is encoded as UTF-8.
    durable: whether to wait until the disk has it, so that it outlives a
      failure of the machine.

  Raises:
    OSError: it cannot be written; an existing file stays as it was.
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
    descriptor: the open file's descriptor.
    content: the bytes to add.
  """
  end = os.fstat(descriptor).st_size
  rest = memoryview(content)
  try:
    while rest:
      rest = rest[os.write(descriptor, rest) :]
  except BaseException:
    # A full disk may have taken a part of the content; this removes it.
    with contextlib.suppress(OSError):
      os.ftruncate(descriptor, end)
    raise


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes the half-written files of processes that were killed.

  Args:
    folder: the files' folder. No other process may be writing there.
  """
  for path in folder.glob(f'{UNFINISHED}*'):
    with contextlib.suppress(OSError):
      path.unlink()
