"""Environments by name, as `dm_env.Environment`s that Acme's agents can use.

  gym:CartPole-v1                    Gymnasium, also Atari, Box2D and MuJoCo
  dm_control:cartpole:swingup        the DeepMind Control Suite
  bsuite:catch/0                     bsuite
  module:package.module:factory      one's own

What stands before the first colon is the family: a module of this package that
has `check(name)` and `make(name, seed)`, where the name is what comes after the
colon. To add one, write its file, and put its name into `_FAMILIES`.
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
  """Returns what an actor calls, in its own process, with a seed.

  It takes a uint32 that decides the environment's random numbers, and returns a
  new environment, in the form that agents take (see `adapt`). It raises
  `UnknownEnvironmentError` if the name means no environment, and
  `UnfitEnvironmentError` if no agent can use the environment.

  Args:
    name: family and name, such as 'gym:Pendulum-v1'.
  """
  return _Factory(name)


def check_environment(name: str) -> None:
  """Checks that a name means an environment that is installed.

  Makes no environment, so that the launcher can ask before all else.

  Args:
    name: family and name, such as 'gym:Pendulum-v1'.

  Raises:
    OwnCodeError: the module of one's own that has the environment raised.
    UnknownEnvironmentError: it means none; the message is one sentence with the
      nearest names, or with the command that installs what is missing.
  """
  rendering.use_no_screen()
  family, rest = _split(name)
  family.check(rest)


def adapt(environment: dm_env.Environment) -> dm_env.Environment:
  """Returns an environment in the form of agents; see `adapter`."""
  # Late, so that `check_environment` need not wait for Acme's imports.
  from programs.environments import adapter

  return adapter.AdaptedEnvironment(environment)


def try_out(environment: dm_env.Environment) -> None:
  """Takes one step, which shows what does not fit; see `adapter.try_out`."""
  from programs.environments import adapter

  adapter.try_out(environment)


def own_code(name: str) -> contextlib.AbstractContextManager[None]:
  """Marks what an environment raises as its own, apart from our refusals.

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
