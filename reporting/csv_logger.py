"""A CSV file of metrics that loses no row, whatever ends its process."""

import collections
import csv
import io
import itertools
import os
import threading
import time
from collections.abc import Sequence

import compat  # noqa: F401

from acme.utils.loggers import base

from reporting import values
from run_files import metric_names, patience, whole_files

# Rows that wait in memory while they cannot be written.
_MAX_WAITING = 10_000


class CSVLogger(base.Logger):
  """Appends rows to a CSV file, with the time of writing as its first column.

  A row is in the file when `write` returns, and takes one line. An existing
  file is continued. A field that comes for the first time extends the header.
  Rows that cannot be written, as on a full disk, wait until they can.

  Acme's logger of this name drops fields that its first row lacked.
  """

  def __init__(self, path: str):
    """Opens nothing yet.

    Args:
      path: of the file; missing folders are made at the first write.
    """
    self._path = path
    self._lock = threading.Lock()
    self._fields: list[str] | None = None
    self._waiting = collections.deque(maxlen=_MAX_WAITING)
    self._num_lost = 0
    self._patience = patience.Patience(
      path,
      'its rows are kept until it can be written again, and the run goes on',
    )

  def write(self, data: base.LoggingData) -> None:
    """Appends a row; None becomes an empty field."""
    row = {metric_names.TIME: f'{time.time():.3f}'}
    row.update((key, values.to_python(data[key])) for key in data)
    with self._lock:
      self._num_lost += len(self._waiting) == self._waiting.maxlen
      self._waiting.append(row)
      self._write_waiting()

  def close(self) -> None:
    """Says how many rows are lost; all others are in the file already."""
    with self._lock:
      self._write_waiting()
      if lost := self._num_lost + len(self._waiting):
        print(f'{lost} rows of {self._path} are lost', flush=True)

  def _write_waiting(self) -> None:
    if not self._waiting:
      return
    with self._patience.attempt():
      if self._fields is None:
        os.makedirs(os.path.dirname(self._path) or '.', exist_ok=True)
        self._fields = self._continue()
      every = dict.fromkeys(itertools.chain.from_iterable(self._waiting))
      if fresh := [key for key in every if key not in self._fields]:
        self._extend(fresh)
      text = io.StringIO(newline='')
      for row in self._waiting:
        csv.writer(text).writerow([row.get(key) for key in self._fields])
      # The file is opened for each write, so that a row written after `close`,
      # as by a loop that is slow to stop, is kept too.
      whole_files.append(self._path, text.getvalue().encode())
      self._waiting.clear()

  def _continue(self) -> list[str]:
    """Cuts off a last line that a kill has torn; returns the header."""
    if not os.path.exists(self._path):
      return []
    with open(self._path, 'rb+') as f:
      content = f.read()
      end = content.rfind(b'\n') + 1
      if end < len(content):
        f.truncate(end)
    with open(self._path, newline='') as f:
      return next(csv.reader(f), [])

  def _extend(self, fresh: Sequence[str]) -> None:
    """Adds fields to the header and, left empty, to the rows so far."""
    rows = []
    if self._fields:
      with open(self._path, newline='') as f:
        rows = list(csv.reader(f))[1:]
    fields = [*self._fields, *fresh]
    text = io.StringIO(newline='')
    writer = csv.writer(text)
    writer.writerow(fields)
    writer.writerows(row + [''] * (len(fields) - len(row)) for row in rows)
    whole_files.write(self._path, text.getvalue(), durable=False)
    self._fields = fields
