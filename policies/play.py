"""Plays an exported policy in an environment."""

import pathlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import dm_env

from policies import policy
from programs import environments


class Episode(NamedTuple):
  """The result of one episode.

  Attributes:
    episode_return: the sum of the rewards.
    length: the number of steps.
  """

  episode_return: float
  length: int


def play(
  path: str | pathlib.Path,
  env: str,
  seed: int,
  num_episodes: int,
  on_frame: Callable[[dm_env.Environment], None] = lambda _: None,
) -> Iterator[Episode]:
  """Plays episodes as the run's evaluator would; yields the result of each.

  Args:
    path: the policy's folder.
    env: the environment's name, as in `--env`.
    seed: the environment's seed, a uint32.
    num_episodes: how many episodes to play.
    on_frame: called with the environment after each reset and each step.

  Raises:
    own_modules.OwnCodeError: the environment raised an error.
    policy.PolicyError: the folder holds no policy that can be loaded.
  """
  act = policy.load(path)
  with environments.own_code(env):
    environment = environments.make_environment_factory(env)(seed)
  try:
    for _ in range(num_episodes):
      act.reset()
      total, length = 0.0, 0
      with environments.own_code(env):
        timestep = environment.reset()
      on_frame(environment)
      while not timestep.last():
        action = act(timestep.observation)
        with environments.own_code(env):
          timestep = environment.step(action)
        on_frame(environment)
        total, length = total + float(timestep.reward), length + 1
      yield Episode(total, length)
  finally:
    environment.close()
