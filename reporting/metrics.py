"""Reads back the CSV files of a run's processes."""

import csv
import pathlib
from collections.abc import Iterator

Row = dict[str, float]


def read(run_dir: str | pathlib.Path, label: str) -> list[list[Row]]:
  """Returns the rows of every process of a role.

  Args:
    run_dir: of the run; one without metrics has no rows.
    label: the role, such as `actor`.

  Returns:
    For each of the role's files the rows in the order of writing, holding the
    numbers by their names in `reporting.names`. A row that was cut short, as by
    a kill in the middle of its writing, is left out.
  """
  paths = (pathlib.Path(run_dir) / 'metrics').glob(f'{label}_*.csv')
  return [list(_rows(path)) for path in sorted(paths)]


def column(rows: list[Row], name: str) -> list[float]:
  """Returns the values of a column, without the rows that lack it."""
  return [row[name] for row in rows if name in row]


def _rows(path: pathlib.Path) -> Iterator[Row]:
  text = path.read_text()
  whole = text[: text.rfind('\n') + 1]
  for row in csv.DictReader(whole.splitlines()):
    yield {k: _number(v) for k, v in row.items() if _number(v) is not None}


def _number(text: str | None) -> float | None:
  try:
    return float(text or '')
  except ValueError:
    return None
