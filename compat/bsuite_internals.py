"""The private parts of bsuite 0.3.6 that this program uses."""

import dm_env


def seed_deep_sea(environment: dm_env.Environment, seed: int) -> None:
  """Seeds an environment of the experiment 'deep_sea_stochastic'.

  The experiment's `load` takes no seed, so the environment would use a random
  one.

  Args:
    environment: the environment that `load` returned.
    seed: a uint32.
  """
  environment._rng.seed(seed)
