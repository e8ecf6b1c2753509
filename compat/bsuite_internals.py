"""The private parts of bsuite 0.3.6 that this program opens."""

import dm_env


def seed_deep_sea(environment: dm_env.Environment, seed: int) -> None:
  """Seeds an environment of the experiment 'deep_sea_stochastic'.

  Its `load` takes no seed, and the environment then draws one from the system.

  Args:
    environment: what `load` returned.
    seed: a uint32.
  """
  environment._rng.seed(seed)
