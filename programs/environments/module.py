"""The user's own environments, named by the functions that make them."""

import inspect
from collections.abc import Callable

import dm_env
import gymnasium

from programs import own_modules
from programs.environments import errors, gym


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless 'package.module:factory' exists."""
  _find_factory(name)


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment that the factory makes.

  Args:
    name: 'package.module:factory'. The factory may be a class; it returns a
      `dm_env.Environment` or a `gymnasium.Env`.
    seed: a uint32 for the factory, if it has a parameter called `seed` or
      exactly one parameter without a default.

  Raises:
    UnknownEnvironmentError: there is no such factory, or it does not return an
      environment.
  """
  factory = _find_factory(name)
  required = [
    p.name
    for p in inspect.signature(factory).parameters.values()
    if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
  ]
  if 'seed' in inspect.signature(factory).parameters:
    environment = factory(seed=seed)
  elif len(required) == 1:
    environment = factory(seed)
  else:
    environment = factory()
  if isinstance(environment, gymnasium.Env):
    return gym.GymnasiumEnvironment(environment, seed)
  if not isinstance(environment, dm_env.Environment):
    raise errors.UnknownEnvironmentError(
      f'module:{name} returned a {type(environment).__name__}, and must return '
      'a dm_env.Environment or a gymnasium.Env'
    )
  return environment


def _find_factory(name: str) -> Callable[..., object]:
  module_name, _, factory_name = name.partition(':')
  if not module_name or not factory_name:
    raise errors.UnknownEnvironmentError(
      f'module:{name} is incomplete; write module:PACKAGE.MODULE:FACTORY'
    )
  try:
    module = own_modules.load(module_name)
  except ValueError as e:
    raise errors.UnknownEnvironmentError(f'module:{name}: {e}') from e
  factory = getattr(module, factory_name, None)
  if not callable(factory):
    functions = [n for n, value in vars(module).items() if callable(value)]
    near = errors.nearest(factory_name, functions, f'module:{module_name}:')
    raise errors.UnknownEnvironmentError(
      f'module:{name}: {module_name} has no function {factory_name}; nearest: '
      f'{near}'
    )
  return factory
