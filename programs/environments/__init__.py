"""Environments by name, as `dm_env.Environment`s that Acme's agents can use.

  gym:CartPole-v1                    Gymnasium, also Atari, Box2D and MuJoCo
  dm_control:cartpole:swingup        the DeepMind Control Suite
  bsuite:catch/0                     bsuite
  module:package.module:factory      one's own

`check_environment(name)` says at once whether such a name can be used, and
`make_environment_factory(name)` gives the function from a seed to an
environment that an actor calls in its own process.
"""

from programs.environments.errors import (
  CannotRenderError,
  UnfitEnvironmentError,
  UnknownEnvironmentError,
)
from programs.environments.factory import (
  EnvironmentFactory,
  adapt,
  check_environment,
  make_environment_factory,
  own_code,
  try_out,
)

__all__ = [
  'CannotRenderError',
  'EnvironmentFactory',
  'UnfitEnvironmentError',
  'UnknownEnvironmentError',
  'adapt',
  'check_environment',
  'make_environment_factory',
  'own_code',
  'try_out',
]
