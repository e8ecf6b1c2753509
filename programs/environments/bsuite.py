"""bsuite's experiments."""

import inspect

from compat import bsuite_internals

import dm_env

from programs.environments.errors import (
  UnknownEnvironmentError,
  nearest,
  require,
)


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless bsuite has an id like 'catch/0'."""
  require(f'bsuite:{name}', ['bsuite'], 'bsuite')
  from bsuite import sweep

  if name not in sweep.SWEEP:
    raise UnknownEnvironmentError(
      f'bsuite:{name} is not an experiment of bsuite; nearest: '
      f'{nearest(name, sweep.SWEEP, "bsuite:")}'
    )


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment; `name` is a bsuite id, `seed` a uint32.

  The id's settings hold, its seed aside, which bsuite leaves open in most.
  """
  check(name)
  from bsuite import bsuite, sweep

  experiment, _ = bsuite.unpack_bsuite_id(name)
  settings = dict(sweep.SETTINGS[name])
  load = bsuite.EXPERIMENT_NAME_TO_ENVIRONMENT[experiment]
  if 'seed' in inspect.signature(load).parameters:
    settings['seed'] = seed
  environment = load(**settings)
  if experiment == 'deep_sea_stochastic':
    bsuite_internals.seed_deep_sea(environment, seed)
  return environment
