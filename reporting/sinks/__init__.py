"""Where a run's metrics go besides its CSV files, which are always written.

  tensorboard   RUN_DIR/tensorboard: event files, a folder for each process
  jsonl         RUN_DIR/metrics.jsonl: a line for each row
  wandb         Weights & Biases, one run there for a run here

Processes write their CSV files and know of no sinks. Each sink is fed by a
process of its own, which follows the CSV files. So a sink that is slow or down
holds up nothing, and catches up later, even after a kill: its own files tell
how many rows it has, so that it takes no row twice.

Each sink is a module of this package, which only its process imports. It has
`sent(run_dir)`, which returns how many rows of each process the sink has, and
`Sink(run_dir, config)`, which takes more.
"""

import importlib.util
from collections.abc import Iterable

# The module that each sink needs and that Python lacks.
_NEEDS = {'tensorboard': 'tensorboard', 'jsonl': None, 'wandb': 'wandb'}


def check(names: Iterable[str]) -> None:
  """Checks that sinks can be used, without importing what they need.

  Args:
    names: the sinks' names.

  Raises:
    ValueError: no sink has such a name, or its package is not installed.
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
