"""A journal: counts are on disk at once, and survive a kill of their process.

The counter must lose no count, and a checkpoint would be up to a minute old. So
each change is written as one line. When `write` returns, the operating system
has the line.
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
    """Reads the values that an earlier process wrote.

    Args:
      path: the file. The file and its folder are made if they do not exist.

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
    """The values by key. A value is a number, or a dict of numbers by name."""
    return self._values

  def write(self, key: str, value: Any) -> None:
    """Sets the value of one key, first in the file.

    Args:
      key: the key.
      value: a number, or a dict of numbers by name.

    Raises:
      OSError: the file could not be written. The value is not set.
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
    """Rewrites the file with only one line for each key."""
    lines = (f'{json.dumps(item)}\n' for item in self._values.items())
    try:
      whole_files.write(self._path, ''.join(lines))
    except OSError:
      # The disk may have no room for a second file, but for one more line.
      self._cut()
    self.close()
    self._file = self._path.open('ab', buffering=0)
    self._compact_at = os.fstat(self._file.fileno()).st_size + _MAX_BYTES

  def _cut(self) -> None:
    """Removes the last line if it is incomplete, as after a kill."""
    if self._path.exists():
      content = self._path.read_bytes()
      os.truncate(self._path, content.rfind(b'\n') + 1)


def read(path: pathlib.Path) -> dict[str, Any]:
  """Returns a journal's values, even while another process writes to it.

  Args:
    path: the file. If it does not exist, there are no values.

  Raises:
    OSError: the file cannot be read.
    DamagedError: the file is not a journal.
  """
  try:
    content = path.read_bytes()
  except FileNotFoundError:
    return {}
  # Text after the last newline is an unfinished line.
  *lines, _ = content.split(b'\n')
  values = {}
  for number, line in enumerate(lines, start=1):
    try:
      key, value = json.loads(line)
      values[key] = _checked(key, value)
    except (ValueError, TypeError, RecursionError) as e:
      raise damage.DamagedError(
        f'{path}, line {number}, is not from a journal of counts: {e}. Delete '
        'the file to begin at zero, or use another --run_dir'
      ) from None
  return values


def _checked(key: Any, value: Any) -> Any:
  """Returns the value, if it is a number or a dict of numbers by name."""
  numbers = value.values() if isinstance(value, dict) else [value]
  are_numbers = all(isinstance(number, int | float) for number in numbers)
  if not isinstance(key, str) or not are_numbers:
    raise ValueError('its value is neither a number nor numbers by name')
  return value
