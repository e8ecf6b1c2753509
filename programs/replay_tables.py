"""The replay server's tables, and a check of them before any process starts.

Without the check, only the replay server would find out that Reverb refuses the
tables, while all other processes wait for it.
"""

import traceback
from collections.abc import Sequence

import compat  # noqa: F401

import reverb

from programs import experiment as experiment_lib


class RefusedTablesError(ValueError):
  """The replay server cannot use the tables; the message says why."""


def make(
  experiment: experiment_lib.ExperimentConfig,
) -> Sequence[reverb.Table]:
  """Returns the tables that the experiment's builder makes."""
  spec = experiment.get_environment_spec()
  policy = experiment.make_policy(
    experiment.network_factory(spec), spec, evaluation=False
  )
  return experiment.get_builder().make_replay_tables(spec, policy)


def check(experiment: experiment_lib.ExperimentConfig) -> None:
  """Makes an experiment's tables once, without a server, and drops them.

  Raises:
    RefusedTablesError: Reverb refuses the tables, two of them have the same
      name, or one could never be sampled.
  """
  try:
    tables = make(experiment)
  except ValueError as e:
    if not _is_raised_by_reverb(e):
      raise
    text = ' '.join(str(e).split()).rstrip('.')
    raise RefusedTablesError(f'Reverb refuses such a replay: {text}') from e
  names = [table.name for table in tables]
  if len({*names}) < len(names):
    raise RefusedTablesError(
      f'two replay tables have the same name: {", ".join(names)}'
    )
  for table in tables:
    _check_can_be_sampled(table)


def _check_can_be_sampled(table: reverb.Table) -> None:
  info = table.info
  least = info.rate_limiter_info.min_size_to_sample
  if least > info.max_size:
    raise RefusedTablesError(
      f'the replay table {info.name!r} holds at most {info.max_size} items, '
      f'but it can only be sampled when it holds {least}'
    )


def _is_raised_by_reverb(error: ValueError) -> bool:
  *_, (frame, _) = traceback.walk_tb(error.__traceback__)
  return frame.f_globals.get('__name__', '').startswith('reverb.')
