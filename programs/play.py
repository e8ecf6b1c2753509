"""Plays a kept policy, as its run's evaluator did."""

import pathlib
from collections.abc import Iterator
from typing import NamedTuple

from programs import environments, policy


class Episode(NamedTuple):
  """What one episode came to: the sum of rewards, and steps."""

  episode_return: float
  length: int


def play(
  path: str | pathlib.Path, env: str, seed: int, num_episodes: int
) -> Iterator[Episode]:
  """Plays episodes.

  Args:
    path: of the policy's folder.
    env: the environment's name.
    seed: of the environment.
    num_episodes: how many.

  Raises:
    policy.PolicyError: the folder holds none.
  """
  act = policy.load(path)
  environment = environments.make_environment_factory(env)(seed)
  try:
    for _ in range(num_episodes):
      act.reset()
      timestep, total, length = environment.reset(), 0.0, 0
      while not timestep.last():
        timestep = environment.step(act(timestep.observation))
        total, length = total + float(timestep.reward), length + 1
      yield Episode(total, length)
  finally:
    environment.close()
