"""From an environment's name to the function that makes it."""

import contextlib
import dataclasses
import importlib

import dm_env

from programs import own_modules
from programs.environments import rendering
from programs.environments.errors import (
  CannotRenderError,
  UnfitEnvironmentError,
  UnknownEnvironmentError,
)

# Each is a module of this package, imported when asked for, which has
# check(name) and make(name, seed), `name` without its scheme.
_FAMILIES = ('gym', 'dm_control', 'bsuite', 'module')
_SCHEMES = (
  'gym:ID, dm_control:DOMAIN:TASK, bsuite:NAME/NUMBER or '
  'module:PACKAGE.MODULE:FACTORY'
)


@dataclasses.dataclass(frozen=True)
class EnvironmentFactory:
  """Makes the environment of one name; plain data, so it can be pickled.

  Every environment is brought to the form that agents take; see `adapt`.

  Attributes:
    name: scheme and name, such as 'gym:Pendulum-v1'.
  """

  name: str

  def __call__(self, seed: int) -> dm_env.Environment:
    """Returns a new environment.

    Args:
      seed: a uint32 that decides its random numbers.

    Raises:
      UnknownEnvironmentError: the name means no environment.
      UnfitEnvironmentError: no agent can use it.
    """
    rendering.use_no_screen()
    family, name = _split(self.name)
    return adapt(family.make(name, int(seed)))


def adapt(environment: dm_env.Environment) -> dm_env.Environment:
  """Returns it in the form of agents; see `adapter.AdaptedEnvironment`."""
  # Late, so that `check_environment` need not wait for Acme's imports.
  from programs.environments import adapter

  return adapter.AdaptedEnvironment(environment)


def make_environment_factory(name: str) -> EnvironmentFactory:
  """Returns the factory for a name; see `EnvironmentFactory`."""
  return EnvironmentFactory(name)


def own_code(name: str) -> contextlib.AbstractContextManager[None]:
  """Marks what an environment raises, refusals of ours aside.

  See `own_modules.own_code`; `name` as for an `EnvironmentFactory`.
  """
  return own_modules.own_code(
    f'the environment {name}',
    (CannotRenderError, UnfitEnvironmentError, UnknownEnvironmentError),
  )


def try_out(environment: dm_env.Environment) -> None:
  """Shows in one step what does not fit; see `adapter.try_out`."""
  from programs.environments import adapter

  adapter.try_out(environment)


def check_environment(name: str) -> None:
  """Checks that a name means an environment that is installed.

  Cheap, since it makes no environment: for the launcher, before it starts any
  process.

  Args:
    name: scheme and name, such as 'gym:Pendulum-v1'.

  Raises:
    UnknownEnvironmentError: it does not; the message is one sentence with the
      nearest names or the command to install what is missing.
  """
  rendering.use_no_screen()
  family, rest = _split(name)
  family.check(rest)


def _split(name: str):
  scheme, separator, rest = name.partition(':')
  if not separator or scheme not in _FAMILIES or not rest:
    raise UnknownEnvironmentError(
      f'{name!r} is not the name of an environment; write {_SCHEMES}'
    )
  return importlib.import_module(f'programs.environments.{scheme}'), rest
