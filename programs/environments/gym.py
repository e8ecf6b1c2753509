"""Gymnasium's environments, Atari among them."""

import importlib

import dm_env
import gymnasium

from programs.environments import spaces
from programs.environments.errors import UnknownEnvironmentError, nearest


class GymnasiumEnvironment(dm_env.Environment):
  """A Gymnasium environment with dm_env's interface.

  An episode that ends because it is over (terminated) has discount 0 at its
  last step; one that is cut off (truncated) has discount 1 there, so that
  agents go on to bootstrap from it.
  """

  def __init__(self, environment: gymnasium.Env, seed: int):
    """Wraps an environment.

    Args:
      environment: the environment, not reset so far.
      seed: a uint32 for its first reset and for its action space. Later resets
        go on with the stream begun then, so that episodes differ.
    """
    self._environment = environment
    self._seed = seed
    self._reset_next_step = True
    environment.action_space.seed(seed)

  @property
  def environment(self) -> gymnasium.Env:
    return self._environment

  def reset(self) -> dm_env.TimeStep:
    observation, _ = self._environment.reset(seed=self._seed)
    self._seed = None
    self._reset_next_step = False
    return dm_env.restart(self._observation(observation))

  def step(self, action) -> dm_env.TimeStep:
    if self._reset_next_step:
      return self.reset()
    observation, reward, terminated, truncated, _ = self._environment.step(
      spaces.to_action(self._environment.action_space, action)
    )
    observation, reward = self._observation(observation), float(reward)
    self._reset_next_step = terminated or truncated
    if terminated:
      return dm_env.termination(reward, observation)
    if truncated:
      return dm_env.truncation(reward, observation)
    return dm_env.transition(reward, observation)

  def observation_spec(self):
    return spaces.to_spec(self._environment.observation_space, 'observation')

  def action_spec(self):
    return spaces.to_spec(self._environment.action_space, 'action')

  def close(self) -> None:
    self._environment.close()

  def _observation(self, observation):
    return spaces.to_observation(
      self._environment.observation_space, observation
    )


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless Gymnasium knows `name`.

  Args:
    name: an id such as 'CartPole-v1', or 'package:Id-v0' where importing the
      package registers the id.
  """
  _spec(name)


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment; `name` as for `check`, `seed` a uint32."""
  spec = _spec(name)
  return GymnasiumEnvironment(gymnasium.make(spec), seed)


def _spec(name: str) -> gymnasium.envs.registration.EnvSpec:
  package, _, environment_id = name.rpartition(':')
  try:
    if package:
      importlib.import_module(package)
    return gymnasium.spec(environment_id)
  except (ImportError, gymnasium.error.Error) as e:
    near = nearest(environment_id, gymnasium.registry, 'gym:')
    raise UnknownEnvironmentError(
      f"'gym:{name}' is not an environment that Gymnasium can make{near} ({e})"
    ) from e
