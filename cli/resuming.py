"""Whether there is something whole for `--resume` to go on from."""

import pathlib

from nodes.saving import journal
from reporting import profile
from run_files import damage, metrics


def check(run_dir: pathlib.Path) -> None:
  """Checks what the processes of a run will begin from.

  Raises:
    DamagedError: a file is damaged, or cannot be read.
  """
  # Slow, since they hold what JAX calls arrays.
  from nodes.saving import checkpoint

  try:
    checkpoint.newest(run_dir / 'checkpoints' / 'learner')
    journal.read(run_dir / 'checkpoints' / 'counter.journal')
    metrics.check(run_dir)
    for path in (run_dir / profile.FOLDER).glob('*.json'):
      damage.read_json(path)
  except OSError as e:
    raise damage.DamagedError(f'--resume: {e}') from e
