"""The actor: acts in an environment and inserts what it sees into replay."""

import compat  # noqa: F401

from acme import core, environment_loop
from acme.utils import loggers, observers

import container
from nodes import counter as counter_lib
from nodes import worker


class ActorLoop(core.Worker):
  """Runs episodes until all actors together have made enough steps."""

  def __init__(
    self,
    loop: environment_loop.EnvironmentLoop,
    logger: loggers.Logger,
    max_actor_steps: int | None = None,
  ):
    """Wraps an environment loop.

    Args:
      loop: runs an episode and counts it.
      logger: gets one row an episode.
      max_actor_steps: no episode begins once the counter's `actor_steps` have
        reached this, so that a program overshoots by at most one episode an
        actor. None goes on until stopped.
    """
    self._loop = loop
    self._logger = logger
    self._max_actor_steps = max_actor_steps

  def run(self) -> None:
    """Runs episodes to the limit."""
    while not is_enough(self.run_episode(), self._max_actor_steps):
      pass

  def run_episode(self) -> loggers.LoggingData:
    """Runs one episode and logs it; returns the row."""
    result = self._loop.run_episode()
    self._logger.write(result)
    return result


def is_enough(row: loggers.LoggingData, max_actor_steps: int | None) -> bool:
  """Tells from an episode's row whether the next need not begin."""
  steps = row.get(counter_lib.ACTOR_STEPS, 0)
  return max_actor_steps is not None and steps >= max_actor_steps


class WeightsObserver(observers.EnvLoopObserver):
  """Logs which weights an episode used; ends the loop when none can be had.

  And when the loop is to end: Acme's asks nobody else between two steps.

  Acme's `VariableClient` fetches in a future whose failure nobody reads: the
  actor would go on with stale weights. `check` raises it in the loop instead.
  """

  def __init__(self, variable_source: container.VariableSource):
    self._variable_source = variable_source

  def observe_first(self, env, timestep) -> None:
    worker.check()
    self._variable_source.check()

  def observe(self, env, timestep, action) -> None:
    worker.check()
    self._variable_source.check()

  def get_metrics(self) -> dict[str, float]:
    return self._variable_source.metrics()
