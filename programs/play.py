"""Plays a kept policy, as its run's evaluator did."""

import pathlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import dm_env

from programs import environments, policy


class Episode(NamedTuple):
  """What one episode came to: the sum of rewards, and steps."""

  episode_return: float
  length: int


def play(
  path: str | pathlib.Path,
  env: str,
  seed: int,
  num_episodes: int,
  on_frame: Callable[[dm_env.Environment], None] = lambda _: None,
) -> Iterator[Episode]:
  """Plays episodes.

  Args:
    path: of the policy's folder.
    env: the environment's name.
    seed: of the environment.
    num_episodes: how many.
    on_frame: called with the environment after each reset and each step.

  Raises:
    policy.PolicyError: the folder holds none.
  """
  act = policy.load(path)
  environment = environments.make_environment_factory(env)(seed)
  try:
    for _ in range(num_episodes):
      act.reset()
      timestep, total, length = environment.reset(), 0.0, 0
      on_frame(environment)
      while not timestep.last():
        timestep = environment.step(act(timestep.observation))
        on_frame(environment)
        total, length = total + float(timestep.reward), length + 1
      yield Episode(total, length)
  finally:
    environment.close()
