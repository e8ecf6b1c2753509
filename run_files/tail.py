"""The rows of a CSV file that another process goes on writing."""

import csv
import pathlib
from typing import IO

# By names of `run_files.metric_names`; an empty field of the file is left out.
Row = dict[str, int | float | str]

# A batch, so that a long file is not held as a whole.
_MAX_ROWS = 1000


def count(path: pathlib.Path) -> int:
  """Returns how many whole rows a CSV file of `reporting.loggers` has."""
  with path.open('rb') as f:
    return max(sum(line.endswith(b'\n') for line in f) - 1, 0)


class Tail:
  """Gives each row of a file of `reporting.loggers.CSVLogger` once.

  There a row is a line, and its place among the rows is for ever, while its
  place in bytes is not: the header grows.
  """

  def __init__(self, path: pathlib.Path, num_read: int):
    """Begins behind the rows that were read before.

    Args:
      path: of the file.
      num_read: how many these are.
    """
    self._path = path
    self._num_read = num_read
    self._header = b''
    self._offset = 0

  def read(self) -> list[Row]:
    """Returns the next rows, none if there are none yet.

    A row that is not whole yet, or was torn by a kill, is none.

    Raises:
      OSError: the file cannot be read.
    """
    with self._path.open('rb') as f:
      header = f.readline()
      if not header.endswith(b'\n'):
        return []
      if header != self._header:
        for _ in range(self._num_read):
          f.readline()
        self._header, self._offset = header, f.tell()
      f.seek(self._offset)
      lines = _whole_lines(f)
    self._offset += sum(map(len, lines))
    self._num_read += len(lines)
    fields, *rows = csv.reader(line.decode() for line in (header, *lines))
    return [
      {
        name: _value(text)
        for name, text in zip(fields, row, strict=False)
        if text
      }
      for row in rows
    ]


def _whole_lines(f: IO[bytes]) -> list[bytes]:
  lines = []
  while len(lines) < _MAX_ROWS and (line := f.readline()).endswith(b'\n'):
    lines.append(line)
  return lines


def _value(text: str) -> int | float | str:
  for kind in (int, float):
    try:
      return kind(text)
    except ValueError:
      pass
  return text
