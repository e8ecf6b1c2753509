"""The DeepMind Control Suite."""

import dm_env

from programs.environments import errors


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless the suite has 'domain:task'."""
  errors.require(f'dm_control:{name}', ['dm_control'], 'dm_control')
  from dm_control import suite

  tasks = [':'.join(task) for task in suite.ALL_TASKS]
  if name not in tasks:
    raise errors.UnknownEnvironmentError(
      f'dm_control:{name} is not a task of the Control Suite; nearest: '
      f'{errors.nearest(name, tasks, "dm_control:")}'
    )


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment, with its observations joined to one vector.

  Args:
    name: 'domain:task', such as 'cartpole:swingup'.
    seed: a uint32.
  """
  check(name)
  import compat  # noqa: F401

  from acme import wrappers
  from dm_control import suite

  domain, task = name.split(':')
  environment = suite.load(
    domain,
    task,
    task_kwargs={'random': seed},
    environment_kwargs={'flat_observation': True},
  )
  # The flat observation is still in a dict, as its only entry.
  return wrappers.ConcatObservationWrapper(environment)
