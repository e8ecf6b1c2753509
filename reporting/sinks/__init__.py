"""Where a run's metrics go beside its CSV files, which are always written.

  tensorboard   RUN_DIR/tensorboard: event files, a folder a process
  jsonl         RUN_DIR/metrics.jsonl: a line a row
  wandb         Weights & Biases, one run there for a run here

Every process writes its CSV file and knows of no other sink. Each sink is fed
by a process of its own, which follows the CSV files: one that is slow or down
holds up nobody, and catches up later, after a kill as well. What a sink has
already it tells from its own files, so that no row gets there twice.

Each is a module of this package, imported in its process alone, which has
`sent(run_dir)`, how many rows of each process it has, and `Sink(run_dir,
config)`, which takes more.
"""

import importlib.util
from collections.abc import Iterable

# The module that each needs beyond Python's own.
_NEEDS = {'tensorboard': 'tensorboard', 'jsonl': None, 'wandb': 'wandb'}


def check(names: Iterable[str]) -> None:
  """Checks that there are such sinks, without importing what they need.

  Args:
    names: of sinks.

  Raises:
    ValueError: there is none of a name, or its package is not installed.
  """
  for name in names:
    if name not in _NEEDS:
      raise ValueError(
        f'{name!r} is no sink of metrics; write any of {", ".join(_NEEDS)}, '
        'with commas between'
      )
    module = _NEEDS[name]
    if module and importlib.util.find_spec(module) is None:
      raise ValueError(
        f'{name} needs {module}, which is not installed: '
        f"pip install -e '.[{name}]'"
      )
