"""The evaluator: plays the newest policy without exploring, at a pace."""

import compat  # noqa: F401

import launchpad as lp
from acme import core, environment_loop
from acme.utils import loggers


class EvaluatorLoop(core.Worker):
  """Plays an episode, rests, and plays again.

  An evaluator that never rests takes as much of a machine as an actor.
  """

  def __init__(
    self,
    loop: environment_loop.EnvironmentLoop,
    logger: loggers.Logger,
    rest_seconds: float,
  ):
    """Wraps an environment loop.

    Args:
      loop: runs an episode and counts it.
      logger: gets one row an episode.
      rest_seconds: between the end of an episode and the next one's start.
    """
    self._loop = loop
    self._logger = logger
    self._rest_seconds = rest_seconds

  def run(self) -> None:
    """Evaluates until stopped."""
    while True:
      self.run_episode()
      if lp.wait_for_stop(self._rest_seconds):
        return

  def run_episode(self) -> loggers.LoggingData:
    """Plays one episode and logs it; returns the row."""
    result = self._loop.run_episode()
    self._logger.write(result)
    return result

  def close(self) -> None:
    """Closes the logger."""
    self._logger.close()
