"""Loggers that wrap a process's logger, to check its rows or to add to them."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import compat  # noqa: F401

from absl import logging
from acme.utils import loggers

from nodes.checks import finite


class WithLossesWatched(loggers.Logger):
  """Passes rows on, and warns once when a loss is not finite."""

  def __init__(
    self,
    logger: loggers.Logger,
    get_progress: Callable[[], str],
    every_seconds: float = 1.0,
  ):
    """Wraps a logger.

    Args:
      logger: gets every row.
      get_progress: returns a text that names the process and its step.
      every_seconds: seconds between two checks of the losses. A check waits for
        the device that computes the losses.
    """
    self._logger = logger
    self._get_progress = get_progress
    self._every_seconds = every_seconds
    self._looked_at = float('-inf')

  def write(self, data: Mapping[str, Any]) -> None:
    if time.monotonic() - self._looked_at >= self._every_seconds:
      self._looked_at = time.monotonic()
      self._look({name: data[name] for name in data if 'loss' in name})
    self._logger.write(data)

  def _look(self, losses: Mapping[str, Any]) -> None:
    found = finite.find(losses)
    if found is not None:
      logging.warning('%s: the loss %s.', self._get_progress(), found)
      self._looked_at = float('inf')

  def close(self) -> None:
    self._logger.close()


class WithMetrics(loggers.Logger):
  """Adds metrics to every row, and passes the row on."""

  def __init__(
    self,
    logger: loggers.Logger,
    sources: Sequence[Callable[[], Mapping[str, float]]],
  ):
    """Wraps a logger.

    Args:
      logger: gets the rows.
      sources: functions that return metrics by name. Each one is called for
        every row.
    """
    self._logger = logger
    self._sources = tuple(sources)

  def write(self, data: Mapping[str, Any]) -> None:
    row = dict(data)
    for source in self._sources:
      row.update(source())
    self._logger.write(row)

  def close(self) -> None:
    self._logger.close()
