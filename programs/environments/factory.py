"""From an environment's name to the function that makes it."""

import dataclasses
import importlib

import dm_env
import numpy as np
import tree
from dm_env import specs

from programs.environments import rendering
from programs.environments.errors import UnknownEnvironmentError

# Each is a module of this package, imported when asked for, which has
# check(name) and make(name, seed), `name` without its scheme.
_FAMILIES = ('gym', 'dm_control', 'bsuite', 'module')
_SCHEMES = (
  'gym:ID, dm_control:DOMAIN:TASK, bsuite:NAME/NUMBER or '
  'module:PACKAGE.MODULE:FACTORY'
)
# Wider than this, a range stands for "unbounded", as float32's own does.
_NO_RANGE = 1e30


@dataclasses.dataclass(frozen=True)
class EnvironmentFactory:
  """Makes the environment of one name; plain data, so it can be pickled.

  Every environment is brought to the form that Acme's agents take; see `adapt`.

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
    """
    rendering.use_no_screen()
    family, name = _split(self.name)
    return adapt(family.make(name, int(seed)))


def adapt(environment: dm_env.Environment) -> dm_env.Environment:
  """Returns an environment in the form that Acme's agents take.

  Observations, rewards and discounts become 32-bit, and continuous actions are
  scaled to [-1, 1] where they have bounds, and clipped on the way in.
  """
  # Late, so that `check_environment` need not wait for Acme's imports.
  import compat  # noqa: F401

  from acme import wrappers

  if _can_be_rescaled(environment.action_spec()):
    environment = wrappers.CanonicalSpecWrapper(environment, clip=True)
  return wrappers.SinglePrecisionWrapper(environment)


def make_environment_factory(name: str) -> EnvironmentFactory:
  """Returns the factory for a name; see `EnvironmentFactory`."""
  return EnvironmentFactory(name)


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


def _can_be_rescaled(action_spec) -> bool:
  """Whether all actions are continuous and have bounds that mean something.

  Acme's wrapper would scale integers too, and make NaN of an infinite range.
  """
  return all(
    isinstance(spec, specs.BoundedArray)
    and np.issubdtype(spec.dtype, np.floating)
    and np.all(spec.maximum.astype(float) - spec.minimum < _NO_RANGE)
    for spec in tree.flatten(action_spec)
  )
