"""Every process's metrics, as a CSV file and as lines on the terminal."""

import collections
import csv
import functools
import io
import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import compat  # noqa: F401

from acme.utils.loggers import aggregators, base

from reporting import terminal, values
from run_files import metric_names, patience, rates
from run_files import whole_files as whole


def logger_factory(run_dir: str) -> Callable[..., base.Logger]:
  """Returns a factory `(label, steps_key=None, task_id=0) -> Logger`."""
  return functools.partial(make_logger, run_dir)


def make_logger(
  run_dir: str,
  label: str,
  steps_key: str | None = None,
  task_id: int = 0,
  time_delta: float = 1.0,
  print_fn: Callable[[str], None] = terminal.print_line,
) -> base.Logger:
  """Makes the logger of one process.

  An actor or evaluator writes a row an episode, and each goes into the CSV. A
  learner writes a row a step, of which one is kept every `time_delta` seconds,
  and the last. The terminal gets every evaluation, and of the others a line
  every `time_delta` seconds at most, and the last.

  Args:
    run_dir: the CSV is `<run_dir>/metrics/<label>_<task_id>.csv`.
    label: the process's role: `actor`, `learner`, `evaluator`, ...
    steps_key: accepted because Acme's logger factories have it; every row holds
      all counts already.
    task_id: index of the process among those of the same label.
    time_delta: in seconds.
    print_fn: prints a line.
  """
  del steps_key
  path = os.path.join(run_dir, 'metrics', f'{label}_{task_id}.csv')
  to_csv = CSVLogger(path)
  to_terminal = terminal.TerminalLogger(label, task_id, print_fn)
  if label == 'learner':
    both = aggregators.Dispatcher([to_csv, to_terminal])
    named = Named(WithRate(both, metric_names.LEARNER_STEPS), label)
    # Outermost, since reading a value waits for the device that computes it.
    return TimeFilter(named, time_delta)
  if label != 'evaluator':
    to_terminal = TimeFilter(to_terminal, time_delta)
  return Named(aggregators.Dispatcher([to_csv, to_terminal]), label)


class CSVLogger(base.Logger):
  """Appends rows to a CSV file, with the time of writing as its first column.

  Every row is in the file when `write` returns, so a killed process loses none.
  An existing file is continued. A field seen for the first time extends the
  header. Rows that cannot be written now are kept for the next time.
  """

  _MAX_WAITING = 10_000

  def __init__(self, path: str):
    """Continues the file at `path`, or begins it at the first write.

    Args:
      path: of the file; missing folders are made.
    """
    self._path = path
    self._lock = threading.Lock()
    self._fields: list[str] | None = None
    self._waiting = collections.deque(maxlen=self._MAX_WAITING)
    self._num_lost = 0
    self._patience = patience.Patience(
      path, 'its rows are kept until it can, and the run goes on'
    )

  def write(self, data: base.LoggingData) -> None:
    """Appends a row; None is an empty field."""
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
      # No handle is kept: a row written after `close`, as by a loop that was
      # slow to stop, is kept too.
      whole.append(self._path, text.getvalue().encode())
      self._waiting.clear()

  def _continue(self) -> list[str]:
    """Cuts off a last line that a kill has torn; returns the header."""
    if not os.path.exists(self._path):
      return []
    with open(self._path, 'rb+') as f:
      content = f.read()
      whole = content.rfind(b'\n') + 1
      if whole < len(content):
        f.truncate(whole)
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
    whole.write(self._path, text.getvalue(), durable=False)
    self._fields = fields


class Named(base.Logger):
  """Gives every field the name that `run_files.metric_names` has for it."""

  def __init__(self, to: base.Logger, label: str):
    self._to = to
    self._label = label

  def write(self, data: base.LoggingData) -> None:
    self._to.write(
      {metric_names.qualify(self._label, k): data[k] for k in data}
    )

  def close(self) -> None:
    self._to.close()


class WithRate(base.Logger):
  """Adds the rate at which a count rose since the row before."""

  def __init__(self, to: base.Logger, count: str):
    """Wraps a logger.

    Args:
      to: gets the rows, with `<count>_per_second` from the second on.
      count: the field that is counted, such as `learner/steps`.
    """
    self._to = to
    self._count = count
    self._before: rates.Point | None = None

  def write(self, data: base.LoggingData) -> None:
    row = dict(data)
    if self._count in row:
      count = values.to_python(row[self._count])
      now = rates.Point(time.monotonic(), count)
      if self._before is not None:
        rate = rates.per_second([self._before, now])
        row[f'{self._count}_per_second'] = rate
      self._before = now
    self._to.write(row)

  def close(self) -> None:
    self._to.close()


class TimeFilter(base.Logger):
  """Passes on a row every so many seconds, and at the end the last one.

  Acme's filter of this name loses the last row.
  """

  def __init__(self, to: base.Logger, time_delta: float):
    """Wraps a logger.

    Args:
      to: gets the rows that pass.
      time_delta: seconds between two rows that pass.
    """
    self._to = to
    self._time_delta = time_delta
    self._passed_at = float('-inf')
    self._held: dict[str, Any] | None = None
    self._lock = threading.Lock()

  def write(self, data: base.LoggingData) -> None:
    with self._lock:
      now = time.monotonic()
      if now - self._passed_at < self._time_delta:
        self._held = dict(data)
        return
      self._passed_at, self._held = now, None
      self._to.write(data)

  def close(self) -> None:
    with self._lock:
      held, self._held = self._held, None
      if held is not None:
        self._to.write(held)
      self._to.close()
