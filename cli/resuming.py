"""Checks that the files that `--resume` needs are not damaged."""

import pathlib

from nodes.saving import journal
from reporting import profile
from run_files import damage, metrics


def check(run_dir: pathlib.Path) -> None:
  """Checks the files that the processes of a resumed run read first.

  Args:
    run_dir: the run directory's absolute path.

  Raises:
    damage.DamagedError: a file is damaged, or cannot be read.
  """
  # Imported here, since it imports JAX, which is slow.
  from nodes.saving import checkpoint

  try:
    checkpoint.newest(run_dir / 'checkpoints' / 'learner')
    journal.read(run_dir / 'checkpoints' / 'counter.journal')
    metrics.check(run_dir)
    for path in (run_dir / profile.FOLDER).glob('*.json'):
      damage.read_json(path)
  except OSError as e:
    raise damage.DamagedError(f'--resume: {e}') from e
