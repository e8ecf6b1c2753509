"""Records when each process of a measured program takes its first step.

This file must not import Acme: `launch.py` imports this file before it has read
its flags. Acme imports Launchpad, which defines one of these flags again.
"""

import os
import pathlib
import sys
import time

import dm_env

from programs import environments
from run_files import whole_files

# The environment variable with the folder of the recorded times.
DIRECTORY = 'BENCHMARK_STAMPS'
_ENVIRONMENT = 'gym:Pendulum-v1'


class StampedEnvironment(dm_env.Environment):
  """Records when the first step is taken."""

  def __init__(self, environment: dm_env.Environment, role: str):
    """Wraps an environment.

    Args:
      environment: the environment that takes the steps.
      role: 'actor' or 'evaluator'.
    """
    self._environment = environment
    self._role = role
    self._first = True

  def reset(self) -> dm_env.TimeStep:
    return self._environment.reset()

  def observation_spec(self):
    return self._environment.observation_spec()

  def action_spec(self):
    return self._environment.action_spec()

  def reward_spec(self):
    return self._environment.reward_spec()

  def discount_spec(self):
    return self._environment.discount_spec()

  def step(self, action) -> dm_env.TimeStep:
    timestep = self._environment.step(action)
    if self._first:
      self._first = False
      stamp(self._role)
    return timestep


def stamp(role: str) -> None:
  """Records the time of this process's first step.

  Args:
    role: 'actor', 'evaluator' or 'learner'.
  """
  path = pathlib.Path(os.environ[DIRECTORY]) / f'{role}-{os.getpid()}'
  whole_files.write(path, repr(time.time()), durable=False)


def read(directory: str, role: str) -> dict[int, float]:
  """Returns the times of first steps, in seconds since the epoch, by pid.

  Args:
    directory: the folder of the recorded times.
    role: the role that `stamp` was given.
  """
  return {
    int(path.name.rpartition('-')[2]): float(path.read_text())
    for path in pathlib.Path(directory).glob(f'{role}-*')
  }


def make_environment(seed: int) -> dm_env.Environment:
  """Makes the environment of `launch.py`, whose --env names this function."""
  # `backends` names a process after its task, such as actor/3.
  return _make(sys.argv[0].partition('/')[0], seed)


def make_actor_environment(seed: int) -> dm_env.Environment:
  return _make('actor', seed)


def make_evaluator_environment(seed: int) -> dm_env.Environment:
  return _make('evaluator', seed)


def _make(role: str, seed: int) -> dm_env.Environment:
  factory = environments.make_environment_factory(_ENVIRONMENT)
  return StampedEnvironment(factory(seed), role)
