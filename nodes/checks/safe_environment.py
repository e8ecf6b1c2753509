"""An environment that refuses NaNs and infinities, and is closed only once."""

import threading
from typing import Any

import compat  # noqa: F401

import dm_env
from absl import logging
from acme import wrappers

from nodes.checks import finite

# How long `close` waits for a step that another thread is in.
_LAST_STEP_SECONDS = 1.0


class SafeEnvironment(wrappers.EnvironmentWrapper):
  """Checks an environment's actions, rewards, discounts and observations.

  Actors and evaluators wrap each of their environments in one of these.
  """

  def __init__(self, environment: dm_env.Environment, name: str):
    """Wraps an environment.

    Args:
      environment: the environment. Nothing else may close it.
      name: the process's name for errors, such as `actor/0`.
    """
    super().__init__(environment)
    self._name = name
    self._steps = self._episodes = self._episode_steps = 0
    self._in_use = threading.Lock()
    self._is_closed = False

  def reset(self) -> dm_env.TimeStep:
    """Begins an episode.

    Raises:
      NonFiniteError: the observation is not finite.
      SystemExit: the environment is closed.
    """
    self._episodes += 1
    self._episode_steps = 0
    timestep = self._call(self.environment.reset)
    self._check('observation', timestep.observation)
    return timestep

  def step(self, action: Any) -> dm_env.TimeStep:
    """Takes a step.

    Raises:
      NonFiniteError: the action, or what the environment returned, is not
        finite.
      SystemExit: the environment is closed.
    """
    self._steps += 1
    self._episode_steps += 1
    self._check('action', action)
    timestep = self._call(self.environment.step, action)
    self._check('reward', timestep.reward)
    self._check('discount', timestep.discount)
    self._check('observation', timestep.observation)
    return timestep

  def close(self) -> None:
    """Closes the environment, unless it was closed or it hangs in a step."""
    if self._is_closed:
      return
    if not self._in_use.acquire(timeout=_LAST_STEP_SECONDS):
      logging.warning('An environment hangs in a step, and was left open.')
      return
    try:
      self._is_closed = True
      self.environment.close()
    finally:
      self._in_use.release()

  def _call(self, method, *args) -> dm_env.TimeStep:
    with self._in_use:
      if self._is_closed:  # The process is ending; its loop was left running.
        raise SystemExit
      return method(*args)

  def _check(self, what: str, nest: Any) -> None:
    found = finite.find(nest, what)
    if found is not None:
      raise finite.NonFiniteError(
        f'{self._name}, at its step {self._steps:,}, which is step '
        f'{self._episode_steps:,} of its episode {self._episodes:,}: the '
        f'{found}'
      )
