"""Run directories with metrics, without a run."""

import json
import pathlib

from reporting import csv_logger

ACTOR = 'actor_0'


def make(run_dir: pathlib.Path, program: str = 'distributed') -> None:
  """Makes a run directory as a run does when it begins."""
  run_dir.mkdir(exist_ok=True)
  (run_dir / 'config.json').write_text(json.dumps({'program': program}))


def write(run_dir: pathlib.Path, *steps: int, process: str = ACTOR) -> None:
  """Writes rows of a process, one for each count of the actors' steps."""
  path = run_dir / 'metrics' / f'{process}.csv'
  logger = csv_logger.CSVLogger(str(path))
  for count in steps:
    logger.write({'actor/steps': count, 'actor/episode_return': -count / 2})
