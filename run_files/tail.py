"""Follows a CSV file of metrics while another process writes it."""

import collections
import csv
import itertools
import pathlib
from collections.abc import Iterable, Iterator
from typing import IO

from run_files import metrics

# Values by their names in `run_files.metric_names`, without empty fields.
Row = dict[str, int | float | str]

# Rows come in batches, so that a long file is not held in memory as a whole.
_BATCH_ROWS = 1000


def count(path: pathlib.Path) -> int:
  """Returns how many whole rows a file of metrics has."""
  with path.open('rb') as f:
    return max(sum(1 for _ in _whole_lines(f)) - 1, 0)


def numbers(row: Row) -> metrics.Row:
  """Returns the fields of a row that are numbers."""
  return {n: value for n, value in row.items() if not isinstance(value, str)}


class Tail:
  """Returns each row of a file of `reporting.csv_logger` once.

  It keeps its place as a number of rows: each row is one line, and rows are
  only ever added. A place in bytes would not last, since all rows move when the
  header gets a field.
  """

  def __init__(self, path: pathlib.Path, num_read: int = 0):
    """Begins after the rows that were read before.

    Args:
      path: the file's path.
      num_read: the number of rows that were read before.
    """
    self._path = path
    self._num_read = num_read
    self._header = b''
    self._offset = 0

  def read(self) -> list[Row]:
    """Returns the next rows, 1000 at most; none if there are none yet.

    A row that is not complete is left for a later call.

    Raises:
      OSError: the file is there but cannot be read.
    """
    return self._read(max_lines=_BATCH_ROWS, max_rows=None)

  def read_newest(self, max_rows: int) -> list[Row]:
    """Returns the last of the rows that were not read yet; skips the others.

    Args:
      max_rows: the largest number of rows to return.

    Raises:
      OSError: the file is there but cannot be read.
    """
    # Skipped rows are counted but not parsed, since that is what takes time.
    return self._read(max_lines=None, max_rows=max_rows)

  def _read(self, max_lines: int | None, max_rows: int | None) -> list[Row]:
    """Reads at most `max_lines` lines, and parses the last `max_rows`."""
    try:
      f = self._path.open('rb')
    except FileNotFoundError:
      return []
    kept = collections.deque(maxlen=max_rows)
    with f:
      if not self._seek(f):
        return []
      for line in itertools.islice(_whole_lines(f), max_lines):
        kept.append(line)
        self._num_read += 1
        self._offset += len(line)
    return list(_parse([self._header, *kept]))

  def _seek(self, f: IO[bytes]) -> bool:
    """Goes to the first row that was not read; returns False if no header."""
    header = f.readline()
    if not header.endswith(b'\n'):
      return False
    if header != self._header:
      for _ in range(self._num_read):
        f.readline()
      self._header, self._offset = header, f.tell()
    f.seek(self._offset)
    return True


def _whole_lines(f: IO[bytes]) -> Iterator[bytes]:
  return itertools.takewhile(lambda line: line.endswith(b'\n'), f)


def _parse(lines: Iterable[bytes]) -> Iterator[Row]:
  text = (line.decode(errors='replace') for line in lines)
  fields, *rows = csv.reader(text)
  for row in rows:
    cells = zip(fields, row, strict=False)
    yield {name: _value(cell) for name, cell in cells if cell}


def _value(text: str) -> int | float | str:
  for kind in (int, float):
    try:
      return kind(text)
    except ValueError:
      pass
  return text
