"""All rows of a run as JSON lines, in one file.

{"label": "actor", "index": 0, "time": 1796.5, "actor/steps": 200, ...}

NaN and infinity, which JSON lacks, become the texts "nan", "inf" and "-inf".
"""

import collections
import json
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from run_files import tail

_FILE = 'metrics.jsonl'


def sent(run_dir: pathlib.Path) -> collections.Counter[str]:
  """Returns how many rows of each process are in the file."""
  counts = collections.Counter()
  path = run_dir / _FILE
  if path.exists():
    with path.open() as f:
      for line in f:
        if line.endswith('\n'):
          row = json.loads(line)
          counts[f'{row["label"]}_{row["index"]}'] += 1
  return counts


class Sink:
  """Appends to the file."""

  def __init__(self, run_dir: pathlib.Path, config: Mapping[str, Any]):
    """Cuts off a last line that a kill has torn.

    Args:
      run_dir: the run directory.
      config: ignored.
    """
    del config
    self._path = run_dir / _FILE
    if self._path.exists():
      os.truncate(self._path, _end_of_lines(self._path))

  def write(self, process: str, rows: Sequence[tail.Row]) -> None:
    """Appends rows to the file before it returns.

    Args:
      process: label and index of the process that wrote them: `actor_0`.
      rows: in the order of writing.

    Raises:
      OSError: the file cannot be written.
    """
    label, _, index = process.rpartition('_')
    about = {'label': label, 'index': int(index)}
    with self._path.open('a') as f:
      for row in rows:
        values = {name: _json(value) for name, value in row.items()}
        f.write(json.dumps(about | values) + '\n')

  def close(self) -> None:
    """Does nothing: every row is in the file already."""


def _end_of_lines(path: pathlib.Path) -> int:
  end = 0
  with path.open('rb') as f:
    for line in f:
      end += len(line) if line.endswith(b'\n') else 0
  return end


def _json(value: int | float | str) -> int | float | str:
  is_lacking = isinstance(value, float) and not math.isfinite(value)
  return str(value) if is_lacking else value
