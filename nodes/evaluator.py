"""The evaluator: plays the newest policy without exploring, on a schedule."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import compat  # noqa: F401

import launchpad as lp
from acme import core, environment_loop
from acme.utils import loggers

import container
from nodes import counter as counter_lib
from nodes import schedule as schedule_lib
from nodes.checks import finite

_POLL_SECONDS = 0.2
# An actor fetches weights only once in so many updates: in Acme at most 1,000.
_MAX_UPDATES = 10_000


class PinnedSource(core.VariableSource):
  """Returns the same version of the variables until `advance` is called."""

  def __init__(self, source: container.VariableSource):
    """Makes a source that has returned nothing yet.

    Args:
      source: the source that the variables are fetched from.
    """
    self._source = source
    self._pinned: dict[tuple[str, ...], list[Any]] = {}

  def advance(self) -> None:
    """Makes the next call of `get_variables` fetch the newest version."""
    self._pinned.clear()

  @property
  def version(self) -> int:
    """The version of the variables that were returned last."""
    return self._source.version

  @property
  def is_pinned(self) -> bool:
    """Whether variables were returned since the last `advance`."""
    return bool(self._pinned)

  def newest_version(self) -> int:
    """Returns the number of the newest version."""
    return self._source.newest_version()

  def get_variables(self, names: Sequence[str]) -> list[Any]:
    """Returns the variables of these names, of the pinned version."""
    key = tuple(names)
    if key not in self._pinned:
      self._pinned[key] = self._source.get_variables(names)
    return self._pinned[key]


class EvaluatorLoop(core.Worker):
  """Evaluates when an evaluation is due and there are new weights."""

  def __init__(
    self,
    loop: environment_loop.EnvironmentLoop,
    actor: core.Actor,
    source: PinnedSource,
    get_counts: Callable[[], dict[str, Any]],
    logger: loggers.Logger,
    schedule: schedule_lib.Schedule,
    watch: finite.Watch | None = None,
  ):
    """Makes the loop. The first evaluation is due when there are weights.

    Args:
      loop: runs an episode without updating the actor, and counts the episode.
      actor: the loop's actor.
      source: the source of the actor's weights.
      get_counts: returns the program's counts by name.
      logger: gets one row an episode.
      schedule: when to evaluate, and for how many episodes.
      watch: decides what happens at an episode with a NaN or an infinity: it is
        counted and left out, or the run ends. None ends the run.
    """
    self._loop = loop
    self._actor = actor
    self._source = source
    self._get_counts = get_counts
    self._logger = logger
    self._schedule = schedule
    self._watch = watch or finite.Watch()
    # The version that was evaluated last, and when that evaluation began.
    self._version = 0
    self._began = float('-inf')
    # The learner's steps at that time, divided by `every_learner_steps`.
    self._multiple = -1

  def run(self) -> None:
    """Evaluates until the program stops, and then with the last weights."""
    while not lp.wait_for_stop(_POLL_SECONDS):
      # `_is_due` must come second: asked again, it says that nothing is due.
      if self._has_news() and self._is_due():
        self.evaluate()
    if self._has_news():
      self.evaluate()

  def evaluate(self) -> None:
    """Plays the schedule's episodes with the newest weights."""
    self._began = time.monotonic()
    self._source.advance()
    for _ in range(_MAX_UPDATES):
      self._actor.update(wait=True)
      if self._source.is_pinned:
        break
    self._version = self._source.version
    for _ in range(self._schedule.episodes):
      self.run_episode()

  def run_episode(self) -> loggers.LoggingData:
    """Plays one episode and logs it; returns the row."""
    result = self._watch.try_until_finite(self._loop.run_episode, lambda: None)
    self._watch.end_episode()
    result.update(self._watch.metrics())
    self._logger.write(result)
    return result

  def close(self) -> None:
    """Closes the logger."""
    self._logger.close()

  def _is_due(self) -> bool:
    seconds = self._schedule.every_seconds
    if seconds is not None and time.monotonic() - self._began >= seconds:
      return True
    steps = self._schedule.every_learner_steps
    if steps is None:
      return False
    multiple = self._get_counts().get(counter_lib.LEARNER_STEPS, 0) // steps
    is_due, self._multiple = multiple > self._multiple, multiple
    return is_due

  def _has_news(self) -> bool:
    return self._source.newest_version() > self._version
