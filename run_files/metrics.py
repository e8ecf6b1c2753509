"""Reads back the CSV files of metrics that a run's processes wrote."""

import csv
import itertools
import os
import pathlib
from collections.abc import Sequence

from run_files import damage, metric_names

# A row's numbers by their names in `run_files.metric_names`.
Row = dict[str, float]

# Enough for some minutes of a learner that writes a row a second.
_NEWEST_BYTES = 1 << 16


def read(run_dir: str | pathlib.Path, label: str) -> list[list[Row]]:
  """Returns the rows of every process of a role.

  Args:
    run_dir: the run directory; one without metrics has no rows.
    label: the role, such as `actor`.

  Returns:
    The rows of each of the role's files, in the order of writing. A row that a
    kill has cut short is left out.

  Raises:
    OSError: a file cannot be read.
    DamagedError: a file is damaged.
  """
  found = (pathlib.Path(run_dir) / 'metrics').glob(f'{label}_*.csv')
  return [_rows(path, _content(path)) for path in sorted(found)]


def check(run_dir: str | pathlib.Path) -> None:
  """Checks that rows can be added to a run's files.

  Args:
    run_dir: the run directory.

  Raises:
    OSError: a file cannot be read.
    DamagedError: a file is damaged.
  """
  for path in paths(run_dir):
    _text(path, _content(path))


def paths(run_dir: str | pathlib.Path) -> list[pathlib.Path]:
  """Returns a run's CSV files, called `<label>_<index>.csv`, in order."""
  return sorted((pathlib.Path(run_dir) / 'metrics').glob('*_*.csv'))


def read_newest(run_dir: str | pathlib.Path) -> dict[str, list[Row]]:
  """Returns the last rows of every process, by name as in `actor/0`.

  It reads only the ends of the files. So it takes no longer after days than
  after a minute.

  Args:
    run_dir: the run directory; one without metrics has no rows.

  Raises:
    OSError: a file cannot be read.
    DamagedError: a file is damaged.
  """
  newest = {}
  for path in paths(run_dir):
    label, _, index = path.stem.rpartition('_')
    newest[f'{label}/{index}'] = _rows(path, _content(path, _NEWEST_BYTES))
  return newest


def by_time(files: list[list[Row]]) -> list[Row]:
  """Returns the rows of several files in the order of writing."""
  rows = itertools.chain.from_iterable(files)
  return sorted(rows, key=lambda row: row.get(metric_names.TIME, 0.0))


def column(rows: list[Row], name: str) -> list[float]:
  """Returns the values of a column, from the rows that have it."""
  return [row[name] for row in rows if name in row]


def _rows(path: pathlib.Path, content: bytes) -> list[Row]:
  """Returns the rows in a file's content."""
  # A DictReader would take twice as long, and files may be long.
  rows = csv.reader(_text(path, content).splitlines())
  try:
    header = next(rows, [])
    return [_row(header, cells) for cells in rows if cells]
  except csv.Error as e:
    raise _damaged(path, e) from None


def _row(header: Sequence[str], cells: Sequence[str]) -> Row:
  numbers = zip(header, map(_number, cells), strict=False)
  return {name: number for name, number in numbers if number is not None}


def _number(text: str) -> float | None:
  try:
    return float(text) if text else None
  except ValueError:
    return None


def _content(path: pathlib.Path, num_bytes: int | None = None) -> bytes:
  """Returns a file's header and rows.

  Args:
    path: the file's path.
    num_bytes: the number of the file's last bytes to read; None reads all.
  """
  try:
    with path.open('rb') as f:
      header = f.readline()
      end = f.seek(0, os.SEEK_END)
      start = len(header)
      if num_bytes is not None:
        start = max(start, end - num_bytes)
      f.seek(start)
      # If reading began within the file, the first line may be half a row.
      lines = f.read().split(b'\n')[start > len(header) :]
  except IsADirectoryError as e:
    raise _damaged(path, e) from None
  return b'\n'.join([header.rstrip(), *lines])


def _text(path: pathlib.Path, content: bytes) -> str:
  """Returns content as text, without a last line that was cut short."""
  try:
    text = content[: content.rfind(b'\n') + 1].decode()
  except ValueError as e:
    raise _damaged(path, e) from None
  if '\0' in text:
    raise _damaged(path, 'it has null bytes')
  return text


def _damaged(path: pathlib.Path, reason: object) -> damage.DamagedError:
  return damage.DamagedError(
    f'{path} is damaged: {reason}. Mend it; or remove it, and its rows are lost'
  )
