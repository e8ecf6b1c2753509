"""An environment that can be made in the launcher but not in an actor."""

import sys

from programs import environments


def make(seed):
  if sys.argv[0].startswith('actor/'):
    raise OSError('the simulator has no licence')
  return environments.make_environment_factory('gym:Pendulum-v1')(seed)
