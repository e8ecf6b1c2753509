"""An environment that the launcher can make, and an actor cannot."""

import sys

from programs import environments


def make(seed):
  if sys.argv[0].startswith('actor/'):
    raise OSError('the simulator has no licence')
  return environments.make_environment_factory('gym:Pendulum-v1')(seed)
