"""Every process's metrics, as a CSV file and as lines on the terminal."""

import functools
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import compat  # noqa: F401

from acme.utils.loggers import aggregators, base

from reporting import csv_logger, terminal, values
from run_files import metric_names, rates


def logger_factory(run_dir: str) -> Callable[..., base.Logger]:
  """Returns a factory of loggers, in the form that Acme asks for.

  Args:
    run_dir: the run directory.

  Returns:
    A function `(label, steps_key=None, task_id=0) -> Logger`; see
    `make_logger`.
  """
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

  An actor or evaluator writes a row for each episode, and all of them go into
  the CSV file. A learner writes a row for each step; the file gets one of them
  every `time_delta` seconds, and the last one. The terminal gets every row of
  an evaluator. From any other process it gets one row every `time_delta`
  seconds, and the last one.

  Args:
    run_dir: the run directory; the file is `metrics/<label>_<task_id>.csv` in
      it.
    label: the process's role: `actor`, `learner`, `evaluator`, ...
    steps_key: ignored. Acme's logger factories have it; here every row holds
      all counts already.
    task_id: the number of the process among those of its role.
    time_delta: in seconds.
    print_fn: prints a line on the terminal.
  """
  del steps_key
  path = os.path.join(run_dir, 'metrics', f'{label}_{task_id}.csv')
  to_csv = csv_logger.CSVLogger(path)
  to_terminal = terminal.TerminalLogger(label, task_id, print_fn)
  if label == 'learner':
    both = aggregators.Dispatcher([to_csv, to_terminal])
    named = Named(WithRate(both, metric_names.LEARNER_STEPS), label)
    # Outermost, so that a row that is left out never waits for the device that
    # computes its values.
    return TimeFilter(named, time_delta)
  if label != 'evaluator':
    to_terminal = TimeFilter(to_terminal, time_delta)
  return Named(aggregators.Dispatcher([to_csv, to_terminal]), label)


class Named(base.Logger):
  """Gives every field the name that `run_files.metric_names` has for it."""

  def __init__(self, to: base.Logger, label: str):
    """Wraps a logger.

    Args:
      to: gets the rows.
      label: the role of the process that writes them.
    """
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
      to: gets the rows, with `<count>_per_second` from the second row on.
      count: the field that counts, such as `learner/steps`.
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
  """Passes on a row every so many seconds, and the last one when it closes.

  Acme's filter of this name loses the last row.
  """

  def __init__(self, to: base.Logger, time_delta: float):
    """Wraps a logger.

    Args:
      to: gets the rows that pass.
      time_delta: the least number of seconds between two of these.
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
