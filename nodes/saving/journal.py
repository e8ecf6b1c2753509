"""Counts on disk as soon as they are made, so that a killed process keeps them.

The counter may lose no count, and a checkpoint would be half a minute old. Each
change is a line, which the operating system has when the call returns.
"""

import json
import os
import pathlib
from typing import IO, Any

from run_files import damage, whole_files

_MAX_BYTES = 1 << 22


class Journal:
  """A dict in a file of JSON lines; the last line of a key has its value."""

  def __init__(self, path: str):
    """Reads what an earlier process wrote.

    Args:
      path: the file, which is made if it does not exist, and so is its folder.

    Raises:
      OSError: the file cannot be read or written.
      DamagedError: the file is not a journal.
    """
    self._path = pathlib.Path(path)
    self._path.parent.mkdir(parents=True, exist_ok=True)
    self._values = read(self._path)
    self._file: IO[bytes] | None = None
    self._compact()

  @property
  def values(self) -> dict[str, Any]:
    """A number, or numbers by name, for each key."""
    return self._values

  def write(self, key: str, value: Any) -> None:
    """Sets the value of one key, in the file as well.

    Args:
      key: the key.
      value: a number, or a dict of numbers by name.

    Raises:
      OSError: it could not be written to the file, and is not set.
    """
    line = json.dumps([key, value]) + '\n'
    whole_files.add(self._file.fileno(), line.encode())
    self._values[key] = value
    if os.fstat(self._file.fileno()).st_size > self._compact_at:
      self._compact()

  def close(self) -> None:
    """Closes the file."""
    if self._file is not None:
      self._file.close()

  def _compact(self) -> None:
    """Writes the file anew, with one line for each key."""
    lines = (f'{json.dumps(item)}\n' for item in self._values.items())
    try:
      whole_files.write(self._path, ''.join(lines))
    except OSError:
      # The disk may have room for one more line, if not for a second file.
      self._cut()
    self.close()
    self._file = self._path.open('ab', buffering=0)
    self._compact_at = os.fstat(self._file.fileno()).st_size + _MAX_BYTES

  def _cut(self) -> None:
    """Cuts off a last line that a kill has torn."""
    if self._path.exists():
      content = self._path.read_bytes()
      os.truncate(self._path, content.rfind(b'\n') + 1)


def read(path: pathlib.Path) -> dict[str, Any]:
  """Returns what a journal holds, also while its process writes on.

  Args:
    path: the file; a file that does not exist holds nothing.

  Raises:
    OSError: the file cannot be read.
    DamagedError: the file is not a journal.
  """
  try:
    content = path.read_bytes()
  except FileNotFoundError:
    return {}
  # What follows the last newline was being written when its process died.
  *lines, _ = content.split(b'\n')
  values = {}
  for number, line in enumerate(lines, start=1):
    try:
      key, value = json.loads(line)
      values[key] = _checked(key, value)
    except (ValueError, TypeError, RecursionError) as e:
      raise damage.DamagedError(
        f'{path}, line {number}, is not from a journal of counts: {e}. Delete '
        'the file to begin at zero, or take a new --run_dir'
      ) from None
  return values


def _checked(key: Any, value: Any) -> Any:
  """Returns a value that is a number, or a dict of numbers by name."""
  numbers = value.values() if isinstance(value, dict) else [value]
  are_numbers = all(isinstance(number, int | float) for number in numbers)
  if not isinstance(key, str) or not are_numbers:
    raise ValueError('this is neither a number nor numbers by name')
  return value
