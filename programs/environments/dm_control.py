"""The DeepMind Control Suite."""

import compat  # noqa: F401

import dm_env
from acme import wrappers

from programs.environments.errors import (
  UnknownEnvironmentError,
  nearest,
  require,
)


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless the suite has 'domain:task'."""
  require(f'dm_control:{name}', ['dm_control'], 'dm_control')
  from dm_control import suite

  tasks = [':'.join(task) for task in suite.ALL_TASKS]
  if name not in tasks:
    raise UnknownEnvironmentError(
      f'dm_control:{name} is not a task of the Control Suite; nearest: '
      f'{nearest(name, tasks, "dm_control:")}'
    )


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment; `name` is 'domain:task', `seed` a uint32.

  Its observations are those of the task, flattened and joined to one vector.
  """
  check(name)
  from dm_control import suite

  domain, task = name.split(':')
  environment = suite.load(
    domain,
    task,
    task_kwargs={'random': seed},
    environment_kwargs={'flat_observation': True},
  )
  # The flat observation is still alone in a dict.
  return wrappers.ConcatObservationWrapper(environment)
