"""Environments by name, as `dm_env.Environment`s that Acme's agents can use.

  gym:CartPole-v1                    Gymnasium, also Atari, Box2D and MuJoCo
  dm_control:cartpole:swingup        the DeepMind Control Suite
  bsuite:catch/0                     bsuite
  module:package.module:factory      the user's own

The part before the first colon is the family: a module of this package with
functions `check(name)` and `make(name, seed)`. They take the part after the
colon as `name`. To add a family, write its file, and add its name to
`_FAMILIES`.
"""

import contextlib
import dataclasses
import importlib
import types
from collections.abc import Callable

import dm_env

from programs import own_modules
from programs.environments import errors, rendering

_FAMILIES = ('gym', 'dm_control', 'bsuite', 'module')
_FORMS_OF_NAMES = (
  'gym:ID, dm_control:DOMAIN:TASK, bsuite:NAME/NUMBER or '
  'module:PACKAGE.MODULE:FACTORY'
)


@dataclasses.dataclass(frozen=True)
class _Factory:
  """Makes the environment of one name; plain data, so that it can be pickled.

  Attributes:
    name: family and name, such as 'gym:Pendulum-v1'.
  """

  name: str

  def __call__(self, seed: int) -> dm_env.Environment:
    rendering.use_no_screen()
    family, name = _split(self.name)
    return adapt(family.make(name, int(seed)))


def make_environment_factory(name: str) -> Callable[[int], dm_env.Environment]:
  """Returns a function that makes an environment from a seed.

  Each actor calls the function in its own process. The seed is a uint32 that
  decides the environment's random numbers. The new environment has the form
  that agents take (see `adapt`). The function raises `UnknownEnvironmentError`
  if there is no environment of that name, and `UnfitEnvironmentError` if no
  agent can use the environment.

  Args:
    name: family and name, such as 'gym:Pendulum-v1'.
  """
  return _Factory(name)


def check_environment(name: str) -> None:
  """Checks that an environment of a name is installed.

  It makes no environment, so the launcher can call it before all else.

  Args:
    name: family and name, such as 'gym:Pendulum-v1'.

  Raises:
    OwnCodeError: the user's own module of the environment raised an error.
    UnknownEnvironmentError: there is no such environment. The message is one
      sentence with the nearest names, or with the command that installs the
      missing package.
  """
  rendering.use_no_screen()
  family, rest = _split(name)
  family.check(rest)


def adapt(environment: dm_env.Environment) -> dm_env.Environment:
  """Returns an environment in the form that agents take; see `adapter`."""
  # Late, so that `check_environment` need not wait for Acme's imports.
  from programs.environments import adapter

  return adapter.AdaptedEnvironment(environment)


def try_out(environment: dm_env.Environment) -> None:
  """Takes a step to find values that do not fit; see `adapter.try_out`."""
  from programs.environments import adapter

  adapter.try_out(environment)


def own_code(name: str) -> contextlib.AbstractContextManager[None]:
  """Marks errors that an environment's own code raises as `OwnCodeError`.

  The errors in `environments.errors` pass as they are.

  Args:
    name: family and name, for the error's text; see `own_modules.own_code`.
  """
  return own_modules.own_code(
    f'the environment {name}',
    (
      errors.CannotRenderError,
      errors.UnfitEnvironmentError,
      errors.UnknownEnvironmentError,
    ),
  )


def _split(name: str) -> tuple[types.ModuleType, str]:
  """Returns the family's module, and the name within the family."""
  family, separator, rest = name.partition(':')
  if not separator or family not in _FAMILIES or not rest:
    raise errors.UnknownEnvironmentError(
      f'{name!r} is not the name of an environment; write {_FORMS_OF_NAMES}'
    )
  return importlib.import_module(f'programs.environments.{family}'), rest
