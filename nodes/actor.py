"""The actor: acts in an environment and inserts what it sees into replay."""

import contextlib

from compat import acme_internals

from acme import adders, core, environment_loop
from acme.utils import loggers, observers

import container
from nodes import finite, worker
from nodes import steps as steps_lib


class ActorLoop(core.Worker):
  """Runs episodes until all actors together have made enough steps."""

  def __init__(
    self,
    loop: environment_loop.EnvironmentLoop,
    logger: loggers.Logger,
    steps: steps_lib.StepCounter,
    adder: adders.Adder | None = None,
    watch: finite.Watch | None = None,
  ):
    """Wraps an environment loop.

    Args:
      loop: runs an episode; `steps` is its counter and sees its steps.
      logger: gets one row an episode.
      steps: says when it is enough.
      adder: that of the loop's actor.
      watch: takes note of episodes that are not finite.
    """
    self._loop = loop
    self._logger = logger
    self._steps = steps
    self._adder = adder
    self._watch = watch or finite.Watch()

  def run(self) -> None:
    """Runs episodes to the limit."""
    with contextlib.suppress(steps_lib.Enough):
      while not self._steps.is_enough(self.run_episode()):
        pass

  def run_episode(self) -> loggers.LoggingData:
    """Runs one episode and logs it; returns the row."""
    result = self._watch.try_until_finite(
      self._loop.run_episode, lambda: acme_internals.forget_episode(self._adder)
    )
    self._watch.end_episode()
    self._logger.write(result)
    return result

  def close(self) -> None:
    """Counts the steps of an episode that was broken off."""
    self._steps.close()


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
