"""Facts on disk the moment they are told, so that a killed process keeps them.

The counter needs every count, not those of half a minute ago. A line is written
for each; the operating system has it when the call returns.
"""

import json
import os
import pathlib
from typing import IO, Any

from run_files import damage, whole_files

_MAX_BYTES = 1 << 22


class Journal:
  """A dict in a file of JSON lines, the last line for a key being its value."""

  def __init__(self, path: str):
    """Reads what an earlier process wrote.

    Args:
      path: of the file; made, with its folder, if it is not there.

    Raises:
      OSError: it cannot be read or written.
      DamagedError: it holds something else than a journal.
    """
    self._path = pathlib.Path(path)
    self._path.parent.mkdir(parents=True, exist_ok=True)
    self._values = read(self._path)
    self._file: IO[bytes] | None = None
    self._compact()

  @property
  def values(self) -> dict[str, Any]:
    """By key; what JSON can hold."""
    return self._values

  def write(self, key: str, value: Any) -> None:
    """Sets one key; it is in the file when this returns.

    Raises:
      OSError: it is not.
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
    lines = (f'{json.dumps(item)}\n' for item in self._values.items())
    try:
      whole_files.write(self._path, ''.join(lines))
    except OSError:
      # There is room for a line rather than for all of them once more.
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

  Raises:
    OSError: it cannot be read.
    DamagedError: it is something else than a journal.
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
        f'{path}, line {number}, is no journal of counts: {e}. Delete the file '
        'to begin at zero, or take a new --run_dir'
      ) from None
  return values


def _checked(key: Any, value: Any) -> Any:
  """Returns a value: a number, or numbers by name."""
  numbers = value.values() if isinstance(value, dict) else [value]
  is_right = all(isinstance(number, int | float) for number in numbers)
  if not isinstance(key, str) or not is_right:
    raise ValueError('it holds something else')
  return value
