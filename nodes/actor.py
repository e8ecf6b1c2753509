"""The actor: acts in an environment and inserts its steps into replay."""

import contextlib

from compat import acme_internals

from acme import adders, core, environment_loop
from acme.utils import loggers, observers

import container
from nodes import steps as steps_lib
from nodes import worker
from nodes.checks import finite


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
      loop: runs episodes. `steps` is both its counter and one of its observers.
      logger: gets one row an episode.
      steps: says when all actors together have made enough steps.
      adder: the adder of the loop's actor, or None.
      watch: decides what happens at an episode with a NaN or an infinity: it is
        counted and left out, or the run ends. None ends the run.
    """
    self._loop = loop
    self._logger = logger
    self._steps = steps
    self._adder = adder
    self._watch = watch or finite.Watch()

  def run(self) -> None:
    """Runs episodes until the steps are enough."""
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
    """Reports the steps of an unfinished episode."""
    self._steps.close()


class WeightsObserver(observers.EnvLoopObserver):
  """Logs which weights an episode used, and ends the loop when it must end.

  Between two steps only an observer can end Acme's loop. So this one makes two
  checks at each step:

  - Must the program stop? (`worker.check`)
  - Did a fetch of weights fail? Acme's `VariableClient` fetches in a future and
    never reads its error, so the actor would go on with stale weights. The
    `check` of the variable source raises that error in the loop.
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
