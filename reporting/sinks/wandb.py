"""A run's metrics at Weights & Biases, as one run there.

Several processes write the same names, so a row of the first actor has
`actor_0/actor/episode_return`. WANDB_MODE, WANDB_PROJECT and the rest of W&B's
variables hold.
"""

import collections
import json
import os
import pathlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from run_files import metric_names, tail, whole_files

_PROJECT = 'launchpad-rl'
_INIT_SECONDS = 30.0


def sent(run_dir: pathlib.Path) -> collections.Counter[str]:
  """Returns how many rows of each process were handed to W&B."""
  return collections.Counter(_read(run_dir)['sent'])


class Sink:
  """Hands rows to W&B's library, whose own process sends or keeps them."""

  def __init__(self, run_dir: pathlib.Path, config: Mapping[str, Any]):
    """Begins the run at W&B, or goes on with it.

    Args:
      run_dir: of the run.
      config: of the run.

    Raises:
      wandb.Error: it does not take the run.
      OSError: its folder cannot be written.
    """
    # Slow, and not needed to count.
    import wandb

    self._run_dir = run_dir
    self._state = _read(run_dir)
    self._program = config['program']
    self._known: set[str] = set()
    self._run = wandb.init(
      project=os.environ.get('WANDB_PROJECT', _PROJECT),
      name=run_dir.name,
      id=self._state['id'],
      resume='allow',
      dir=run_dir,
      config=dict(config),
      settings=wandb.Settings(
        init_timeout=_INIT_SECONDS, console='off', x_disable_stats=True
      ),
    )
    # Whoever was killed may not have got as far. W&B takes no step twice.
    self._log()

  def write(self, process: str, rows: Sequence[tail.Row]) -> None:
    """Hands over rows of a process such as `actor_0`.

    Raises:
      OSError: what was handed over cannot be noted.
    """
    state, sent_before = self._state, self._state['sent'].get(process, 0)
    self._state = {
      'id': state['id'],
      'step': state['step'] + len(state['rows']),
      'sent': {**state['sent'], process: sent_before + len(rows)},
      'process': process,
      'rows': list(rows),
    }
    _write(self._run_dir, self._state)
    self._log()

  def close(self) -> None:
    """Waits until W&B's process has sent everything, or kept it offline."""
    self._run.finish()
    state = self._state
    step = state['step'] + len(state['rows'])
    _write(self._run_dir, {**state, 'step': step, 'rows': []})

  def _log(self) -> None:
    process, rows = self._state['process'], self._state['rows']
    axis = f'{process}/{metric_names.steps_axis(process, self._program)}'
    if rows and process not in self._known:
      self._known.add(process)
      self._run.define_metric(f'{process}/*', step_metric=axis)
    for step, row in enumerate(rows, self._state['step']):
      values = {f'{process}/{name}': value for name, value in row.items()}
      time = {'_timestamp': row[metric_names.TIME]}
      self._run.log({axis: 0, **values, **time}, step=step)


def _read(run_dir: pathlib.Path) -> dict[str, Any]:
  """Returns which run it is at W&B, and what was handed over.

  `rows` are the last that were, as W&B's steps from `step` on.
  """
  try:
    return json.loads(_path(run_dir).read_text())
  except FileNotFoundError:
    return {
      'id': secrets.token_hex(4),
      'step': 0,
      'sent': {},
      'process': '',
      'rows': [],
    }


def _write(run_dir: pathlib.Path, state: dict[str, Any]) -> None:
  path = _path(run_dir)
  path.parent.mkdir(exist_ok=True)
  whole_files.write(path, json.dumps(state), durable=False)


def _path(run_dir: pathlib.Path) -> pathlib.Path:
  return run_dir / 'wandb' / 'sent.json'
