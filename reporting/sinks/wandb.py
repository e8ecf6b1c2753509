"""A run's metrics at Weights & Biases, as one run there.

Several processes write metrics of the same names, so those of the first actor
become `actor_0/actor/episode_return` and so on. W&B's environment variables,
such as WANDB_MODE and WANDB_PROJECT, are heeded.
"""

import collections
import json
import os
import pathlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from run_files import metric_names, tail, whole_files

_PROJECT = 'launchpad-rl'
_INIT_SECONDS = 30.0


class _State(NamedTuple):
  """What was handed over to W&B, as `sent.json` keeps it.

  Attributes:
    id: of the run at W&B.
    step: W&B's step of the first of `rows`.
    sent: how many rows of each process were handed over.
    process: the process that wrote `rows`.
    rows: the rows that were handed over last.
  """

  id: str
  step: int
  sent: dict[str, int]
  process: str
  rows: list[tail.Row]


def sent(run_dir: pathlib.Path) -> collections.Counter[str]:
  """Returns how many rows of each process were handed to W&B."""
  return collections.Counter(_read(run_dir).sent)


class Sink:
  """Hands rows to W&B's library, whose own process sends or keeps them."""

  def __init__(self, run_dir: pathlib.Path, config: Mapping[str, Any]):
    """Begins the run at W&B, or goes on with it.

    Args:
      run_dir: the run directory.
      config: values by the names of flags.

    Raises:
      wandb.Error: W&B does not accept the run.
      OSError: the run directory cannot be written.
    """
    # Imported here, since it is slow and `sent` does not need it.
    import wandb

    self._run_dir = run_dir
    self._state = _read(run_dir)
    self._program = config['program']
    self._known: set[str] = set()
    self._run = wandb.init(
      project=os.environ.get('WANDB_PROJECT', _PROJECT),
      name=run_dir.name,
      id=self._state.id,
      resume='allow',
      dir=run_dir,
      config=dict(config),
      settings=wandb.Settings(
        init_timeout=_INIT_SECONDS, console='off', x_disable_stats=True
      ),
    )
    # A process that was killed may not have got as far. W&B ignores a step that
    # it has already.
    self._log()

  def write(self, process: str, rows: Sequence[tail.Row]) -> None:
    """Hands over rows.

    Args:
      process: label and index of the process that wrote them: `actor_0`.
      rows: in the order of writing.

    Raises:
      OSError: the file that says what was handed over cannot be written.
    """
    sent = self._state.sent
    self._state = _State(
      id=self._state.id,
      step=self._state.step + len(self._state.rows),
      sent={**sent, process: sent.get(process, 0) + len(rows)},
      process=process,
      rows=list(rows),
    )
    _write(self._run_dir, self._state)
    self._log()

  def close(self) -> None:
    """Waits until W&B's process has sent everything, or kept it offline."""
    self._run.finish()
    step = self._state.step + len(self._state.rows)
    _write(self._run_dir, self._state._replace(step=step, rows=[]))

  def _log(self) -> None:
    process, rows = self._state.process, self._state.rows
    axis = f'{process}/{metric_names.steps_axis(process, self._program)}'
    if rows and process not in self._known:
      self._known.add(process)
      self._run.define_metric(f'{process}/*', step_metric=axis)
    for step, row in enumerate(rows, self._state.step):
      values = {f'{process}/{name}': value for name, value in row.items()}
      time = {'_timestamp': row[metric_names.TIME]}
      self._run.log({axis: 0, **values, **time}, step=step)


def _read(run_dir: pathlib.Path) -> _State:
  """Returns the state that `_write` wrote last, or that of a new run."""
  try:
    return _State(**json.loads(_path(run_dir).read_text()))
  except FileNotFoundError:
    return _State(secrets.token_hex(4), step=0, sent={}, process='', rows=[])


def _write(run_dir: pathlib.Path, state: _State) -> None:
  path = _path(run_dir)
  path.parent.mkdir(exist_ok=True)
  whole_files.write(path, json.dumps(state._asdict()), durable=False)


def _path(run_dir: pathlib.Path) -> pathlib.Path:
  return run_dir / 'wandb' / 'sent.json'
