"""Prints rows of metrics, a line for each."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import compat  # noqa: F401

from acme.utils.loggers import base

from reporting import values
from run_files import metric_names

# More losses would not fit on a line.
_MAX_LOSSES = 2

# Flushed, since the launcher reads each process's output through a pipe.
print_line = functools.partial(print, flush=True)


class TerminalLogger(base.Logger):
  """Prints a line for each row."""

  def __init__(self, label: str, task_id: int, print_fn: Callable[[str], None]):
    """Prints lines that begin with `[<label>/<task_id>] `.

    Args:
      label: the process's role.
      task_id: the number of the process among those of its role.
      print_fn: prints a line.
    """
    self._label = label
    self._prefix = metric_names.row_prefix(label, task_id)
    self._print = print_fn

  def write(self, data: base.LoggingData) -> None:
    row = {key: values.to_python(data[key]) for key in data}
    # As wide as `[evaluator/0]`, so that the lines of all roles align.
    self._print(f'{self._prefix:<13} {format_row(self._label, row)}')

  def close(self) -> None:
    """Does nothing: every line is printed already."""


def format_row(label: str, row: Mapping[str, Any]) -> str:
  """Returns what matters most in a row, in about 90 columns at most.

  Args:
    label: the role of the process that writes the row.
    row: values by their names in `run_files.metric_names`.
  """
  column = functools.partial(metric_names.qualify, label)
  is_learner = label == 'learner'
  steps = metric_names.LEARNER_STEPS if is_learner else metric_names.ACTOR_STEPS
  # Every process that touches weights reports all there is about them.
  if is_learner:
    weights = _part(row, metric_names.WEIGHTS_PUSHES, 'pushes {:,.0f}')
  else:
    weights = _part(row, metric_names.WEIGHTS_VERSION, 'weights v{:.0f}')
    weights += _part(row, metric_names.WEIGHTS_LAG, ' (lag {:.0f})')
  parts = [
    _part(row, steps, 'steps {:>7,.0f}'),
    _part(row, column(metric_names.EPISODE_RETURN), 'return {:>8.1f}'),
    _part(row, column(metric_names.EPISODE_LENGTH), 'length {:>4.0f}'),
    _part(row, column(metric_names.STEPS_PER_SECOND), '{:>5.0f} steps/s'),
    *_losses(label, row),
    weights,
  ]
  return '  '.join(part for part in parts if part)


def _part(row: Mapping[str, Any], name: str, template: str) -> str:
  value = row.get(name)
  return template.format(value) if isinstance(value, (int, float)) else ''


def _losses(label: str, row: Mapping[str, Any]) -> list[str]:
  prefix = f'{label}/'
  keys = [k for k in row if k.startswith(prefix) and k.endswith('loss')]
  shown = [
    _part(row, key, f'{key.removeprefix(prefix)} {{:<8.3g}}').rstrip()
    for key in keys[:_MAX_LOSSES]
  ]
  return [part for part in shown if part]
