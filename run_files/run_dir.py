"""The run directory: one run's configuration, metrics, checkpoints and figures.

config.json          the flags of the run
metrics/             one CSV a process
tensorboard/         the same as event files; see `reporting.sinks`
metrics.jsonl, wandb/   the same, when asked for
logs/                what each process printed
checkpoints/         what a resume goes on from
slurm/               the script and the number of its job, if it runs on Slurm
policy/              what plays as the evaluator did, without the rest
profile/             with --profile, what each process's time went to
learning_curve.png   the evaluator's return against actor steps
report.html          figures, of this run or of several beside each other
"""

import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any

from run_files import damage, whole_files

_CONFIG = 'config.json'
_LOCK = '.lock'
# Directories that this process has taken.
_taken: set[pathlib.Path] = set()
# What a resumed run may change: how long and how it runs, not what it learns.
_MAY_CHANGE = (
  'num_actors',
  'envs_per_actor',
  'non_finite',
  'num_steps',
  'evaluations',
  'checkpoint_every',
  'checkpoint_replay',
  'profile',
)


def default_path(label: str) -> pathlib.Path:
  """Returns a new folder's path under runs/, named by the time and `label`."""
  now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
  return pathlib.Path('runs') / f'{now}-{label}'


def create(path: pathlib.Path) -> None:
  """Makes the directory of a new run; missing parents are made.

  Raises:
    ValueError: a run is there already.
    OSError: the directory cannot be made or written.
  """
  if holds_run(path):
    raise ValueError(
      f'{path} holds a run already; add --resume to go on with it, or name '
      'another directory'
    )
  path.mkdir(parents=True, exist_ok=True)
  with tempfile.TemporaryFile(dir=path):
    pass


def take(path: pathlib.Path) -> None:
  """Takes a directory for this process, until it ends.

  A status is there some seconds later, when there are tasks.

  Raises:
    ValueError: another process has it.
  """
  try:
    _lock(path)
  except BlockingIOError:
    raise ValueError(
      f'a run in {path} goes on or is just beginning; stop it first, with '
      f'`python launch.py stop {path}`, or name another directory'
    ) from None
  _taken.add(path)


def is_taken(path: pathlib.Path) -> bool:
  """Whether a process has a directory."""
  if not (path / _LOCK).exists():
    return False
  try:
    os.close(_lock(path))
  except BlockingIOError:
    return True
  return False


def give_back(path: pathlib.Path) -> None:
  """Removes the directory of a run if nothing and nobody began there."""
  if path not in _taken and is_taken(path):
    return
  with contextlib.suppress(OSError):
    if {*path.iterdir()} <= {path / _LOCK}:
      (path / _LOCK).unlink(missing_ok=True)
      path.rmdir()


def _lock(path: pathlib.Path) -> int:
  descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
  try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError:
    os.close(descriptor)
    raise
  return descriptor


def check_resume(path: pathlib.Path, config: Mapping[str, Any]) -> None:
  """Checks that the run in a directory can go on with `config`.

  Raises:
    ValueError: there is no run, or it was of another kind.
    DamagedError: its configuration is damaged.
  """
  try:
    before = read_config(path)
  except FileNotFoundError:
    raise ValueError(
      f'{path} holds no run to resume; leave --resume out to begin one'
    ) from None
  for name in sorted({*before, *config} - set(_MAY_CHANGE)):
    if before.get(name) != config.get(name):
      raise ValueError(
        f'the run in {path} has --{name}={before.get(name)}, this one '
        f'--{name}={config.get(name)}; resume with the former, or take another '
        '--run_dir'
      )


def holds_run(path: str | pathlib.Path) -> bool:
  """Whether a run has begun in a directory."""
  return config_path(path).exists()


def config_path(path: str | pathlib.Path) -> pathlib.Path:
  """Where the configuration of the run in a directory is."""
  return pathlib.Path(path) / _CONFIG


def read_config(path: pathlib.Path) -> dict[str, Any]:
  """Returns the configuration of the run in a directory.

  Raises:
    FileNotFoundError: no run is there.
    OSError: it cannot be read.
    DamagedError: the file is damaged.
  """
  try:
    config = damage.read_json(path / _CONFIG)
  except (FileNotFoundError, NotADirectoryError):
    raise FileNotFoundError(f'{path} holds no run') from None
  if not isinstance(config, dict):
    raise damage.DamagedError(
      f'{path / _CONFIG} is damaged: it holds no settings'
    )
  return config


def write_config(path: pathlib.Path, config: Mapping[str, Any]) -> None:
  """Writes the configuration of the run in a directory.

  Args:
    path: of the directory.
    config: plain values by flag.

  Raises:
    OSError: it cannot be written.
  """
  whole_files.write(path / _CONFIG, json.dumps(config, indent=2) + '\n')
