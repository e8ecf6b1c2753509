"""Counts each step of an actor at once, rather than at the episode's end."""

import time
from typing import Any

import compat  # noqa: F401

from absl import logging
from acme.utils import loggers, observers

from nodes import counter as counter_lib
from nodes import counter_client

# A step is reported to the other processes after this time at most.
_EVERY_SECONDS = 1.0
# How long to wait at a stop for a counter that does not answer.
_LAST_REPORT_SECONDS = 2.0


class Enough(Exception):
  """All actors together have reached the run's number of steps."""


class StepCounter(observers.EnvLoopObserver):
  """Counts the steps of a process's loops, as their observer and counter.

  Each step counts at once in this process. Once a second and at the end of each
  episode the steps are reported to the program's counter, and a row is logged.
  """

  def __init__(
    self,
    counter: counter_client.Counter,
    logger: loggers.Logger,
    max_actor_steps: int | None = None,
    every_seconds: float = _EVERY_SECONDS,
  ):
    """Starts with no steps.

    Args:
      counter: the process's counter, which reports when `sync` is called.
      logger: gets a row of counts once a second while an episode lasts.
      max_actor_steps: `observe` ends the loop when all actors together have
        made this number of steps. None sets no limit.
      every_seconds: seconds between two reports.
    """
    self._counter = counter
    self._logger = logger
    self._max_actor_steps = max_actor_steps
    self._every_seconds = every_seconds
    self._reported_at: float | None = None
    self._unreported = 0

  def observe_first(self, env, timestep) -> None:
    """Starts the clock of the reports; a reset does not count as a step."""
    self._reported_at = self._reported_at or time.monotonic()

  def observe(self, env, timestep, action) -> None:
    """Counts a step.

    Raises:
      Enough: the limit was reached in the middle of an episode.
    """
    counts = self._counter.increment(steps=1)
    self._unreported += 1
    if timestep.last():  # Next the loop calls `increment`, and that reports.
      return
    is_enough = self.is_enough(counts)
    if is_enough or time.monotonic() - self._reported_at >= self._every_seconds:
      self._report()
    if is_enough:
      raise Enough

  def get_metrics(self) -> dict[str, float]:
    return {}

  def increment(self, episodes: int, steps: int) -> dict[str, Any]:
    """Counts episodes and reports them, with all steps since the last report.

    Args:
      episodes: how many episodes have ended.
      steps: not used, since `observe` has counted the steps.

    Returns:
      The program's counts by name.
    """
    del steps
    self._counter.increment(episodes=episodes)
    self._counter.sync()
    self._reported_at, self._unreported = time.monotonic(), 0
    return self._counter.known_counts()

  def is_enough(self, counts: loggers.LoggingData) -> bool:
    """Returns whether all actors' steps have reached the limit.

    Args:
      counts: the program's counts by name, or a row that contains them.
    """
    steps = counts.get(counter_lib.ACTOR_STEPS, 0)
    return self._max_actor_steps is not None and steps >= self._max_actor_steps

  def has_enough(self) -> bool:
    """Returns whether the steps known in this process reach the limit."""
    return self.is_enough(self._counter.known_counts())

  def close(self) -> None:
    """Reports and logs the steps that were not reported yet."""
    if not self._unreported:
      return
    try:
      self._counter.finish(_LAST_REPORT_SECONDS)
    except ConnectionError as e:
      logging.warning('Not counted: the last %d steps. %s', self._unreported, e)
    self._write()

  def _report(self) -> None:
    self._counter.sync()
    self._write()

  def _write(self) -> None:
    rate = self._unreported / max(time.monotonic() - self._reported_at, 1e-9)
    self._reported_at, self._unreported = time.monotonic(), 0
    row = {'steps_per_second': rate, **self._counter.known_counts()}
    self._logger.write(row)
