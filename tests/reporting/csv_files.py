"""Hand-made metrics, as processes leave them."""

import pathlib
from collections.abc import Sequence

EVALUATIONS = ['time', 'actor/steps', 'evaluator/episode_return']
ACTORS = ['time', 'actor/steps', 'weights/lag_versions']
LEARNER = ['time', 'learner/steps', 'learner/critic_loss']


def write(
  run_dir: pathlib.Path, name: str, fields: Sequence[str], rows, torn: str = ''
) -> None:
  """Writes `metrics/<name>.csv`; `torn` is a last line without its end."""
  path = run_dir / 'metrics' / f'{name}.csv'
  path.parent.mkdir(parents=True, exist_ok=True)
  lines = [','.join(map(str, row)) for row in [fields, *rows]]
  path.write_text('\n'.join(lines) + '\n' + torn)
