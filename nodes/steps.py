"""Counts an actor's steps while it makes them, not when an episode ends."""

import time
from typing import Any

import compat  # noqa: F401

from absl import logging
from acme.utils import loggers, observers

from nodes import counter as counter_lib
from nodes import counter_client

# The others know of a step so much later, at most.
_EVERY_SECONDS = 1.0
# At a stop the counter may be away.
_LAST_REPORT_SECONDS = 2.0


class Enough(Exception):
  """All actors together have made the steps of the run."""


class StepCounter(observers.EnvLoopObserver):
  """Sees every step of a process's loops, and is their counter.

  Each step counts at once in this process. The program's counter is told, and
  a row is logged, once a second and at the end of each episode.
  """

  def __init__(
    self,
    counter: counter_client.Counter,
    logger: loggers.Logger,
    max_actor_steps: int | None = None,
    every_seconds: float = _EVERY_SECONDS,
  ):
    """Counts from now on.

    Args:
      counter: of the process, which reports when it is told to.
      logger: gets a row of counts once a second of an episode that lasts.
      max_actor_steps: of all actors together, at which `observe` ends a loop.
      every_seconds: between two reports.
    """
    self._counter = counter
    self._logger = logger
    self._max_actor_steps = max_actor_steps
    self._every_seconds = every_seconds
    self._told_at: float | None = None
    self._untold = 0

  def observe_first(self, env, timestep) -> None:
    """Begins the first second; a reset is no step."""
    self._told_at = self._told_at or time.monotonic()

  def observe(self, env, timestep, action) -> None:
    """Counts a step.

    Raises:
      Enough: it was the last, and an episode is under way.
    """
    counts = self._counter.increment(steps=1)
    self._untold += 1
    if timestep.last():  # `increment` comes next.
      return
    is_enough = self.is_enough(counts)
    if is_enough or time.monotonic() - self._told_at >= self._every_seconds:
      self._tell()
    if is_enough:
      raise Enough

  def get_metrics(self) -> dict[str, float]:
    return {}

  def increment(self, episodes: int, steps: int) -> dict[str, Any]:
    """Counts an episode, whose steps were counted as they were made."""
    del steps
    self._counter.increment(episodes=episodes)
    self._counter.sync()
    self._told_at, self._untold = time.monotonic(), 0
    return self._counter.known_counts()

  def is_enough(self, counts: loggers.LoggingData) -> bool:
    """Tells from counts, or from a row that has them, whether to end."""
    steps = counts.get(counter_lib.ACTOR_STEPS, 0)
    return self._max_actor_steps is not None and steps >= self._max_actor_steps

  def close(self) -> None:
    """Tells what was not told yet, as at a stop."""
    if not self._untold:
      return
    try:
      self._counter.finish(_LAST_REPORT_SECONDS)
    except ConnectionError as e:
      logging.warning('Not counted: the last %d steps. %s', self._untold, e)
    self._write()

  def _tell(self) -> None:
    self._counter.sync()
    self._write()

  def _write(self) -> None:
    rate = self._untold / max(time.monotonic() - self._told_at, 1e-9)
    self._told_at, self._untold = time.monotonic(), 0
    row = {'steps_per_second': rate, **self._counter.known_counts()}
    self._logger.write(row)
