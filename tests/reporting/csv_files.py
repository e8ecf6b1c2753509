"""CSV files of metrics, with rows that a test chooses."""

import pathlib
from collections.abc import Sequence

EVALUATIONS = ['time', 'actor/steps', 'evaluator/episode_return']
ACTORS = ['time', 'actor/steps', 'weights/lag_versions']
LEARNER = ['time', 'learner/steps', 'learner/critic_loss']


def write(
  run_dir: pathlib.Path, name: str, fields: Sequence[str], rows, torn: str = ''
) -> None:
  """Writes a process's file.

  Args:
    run_dir: the run directory.
    name: of the file in `metrics/`, without `.csv`.
    fields: the header.
    rows: the values of each row.
    torn: a last line without its end, as a kill leaves it.
  """
  path = run_dir / 'metrics' / f'{name}.csv'
  path.parent.mkdir(parents=True, exist_ok=True)
  lines = [','.join(map(str, row)) for row in [fields, *rows]]
  path.write_text('\n'.join(lines) + '\n' + torn)
