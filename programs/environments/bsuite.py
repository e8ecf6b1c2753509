"""bsuite's experiments."""

import inspect

import dm_env

from programs.environments import errors


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless bsuite has an id like 'catch/0'."""
  errors.require(f'bsuite:{name}', ['bsuite'], 'bsuite')
  from bsuite import sweep

  if name not in sweep.SWEEP:
    raise errors.UnknownEnvironmentError(
      f'bsuite:{name} is not an experiment of bsuite; nearest: '
      f'{errors.nearest(name, sweep.SWEEP, "bsuite:")}'
    )


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment with the id's settings and the given seed.

  Args:
    name: a bsuite id, such as 'catch/0'.
    seed: a uint32, for environments that take a seed.
  """
  check(name)
  from compat import bsuite_internals

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
