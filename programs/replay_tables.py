"""Replay's tables, made once before anything starts.

Otherwise the replay server would be the first to find what Reverb refuses, when
everybody else waits for it.
"""

import traceback

import compat  # noqa: F401

import reverb

from programs import processes
from programs.experiment import ExperimentConfig


class RefusedTablesError(ValueError):
  """There can be no such tables; the message says why, in one sentence."""


def check(experiment: ExperimentConfig) -> None:
  """Makes an experiment's tables, and no server for them.

  Raises:
    RefusedTablesError: Reverb refuses them, or nothing could ever be sampled.
  """
  try:
    tables = processes.replay_tables(experiment)
  except ValueError as e:
    if not _is_reverbs(e):
      raise
    text = ' '.join(str(e).split()).rstrip('.')
    raise RefusedTablesError(f'Reverb refuses such a replay: {text}') from e
  names = [table.name for table in tables]
  if len({*names}) < len(names):
    raise RefusedTablesError(
      f'two tables of the replay have one name: {", ".join(names)}'
    )
  for table in tables:
    _check_can_be_sampled(table)


def _check_can_be_sampled(table: reverb.Table) -> None:
  info = table.info
  least = info.rate_limiter_info.min_size_to_sample
  if least > info.max_size:
    raise RefusedTablesError(
      f'the replay table {info.name!r} holds {info.max_size} items at most, '
      f'and nothing is sampled before it holds {least}, which is never'
    )


def _is_reverbs(error: ValueError) -> bool:
  *_, (frame, _) = traceback.walk_tb(error.__traceback__)
  return frame.f_globals.get('__name__', '').startswith('reverb.')
