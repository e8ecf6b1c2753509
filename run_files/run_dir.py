"""The run directory: one run's configuration, metrics, checkpoints and figures.

config.json          the values of the run's flags
metrics/             a CSV file of metrics for each process
tensorboard/         the same as event files; see `reporting.sinks`
metrics.jsonl, wandb/   the same, if asked for
logs/                what each process printed, and the run's status
checkpoints/         what a resumed run goes on from
slurm/               the job's script and its number, if the run is on Slurm
policy/              the policy, which needs no other file of the run
profile/             with --profile, where each process's time went
learning_curve.png   the evaluators' return against actor steps
report.html          figures that compare this run with others
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
# The directories that this process has locked.
_locked: set[pathlib.Path] = set()
# Settings that a resumed run may change. They say how it runs and how long, and
# not what it learns.
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
  """Returns the path of a new folder in `runs/`.

  Args:
    label: follows the time in the folder's name.
  """
  now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
  return pathlib.Path('runs') / f'{now}-{label}'


def create(path: pathlib.Path) -> None:
  """Makes the directory of a new run, and its parents if they are missing.

  Raises:
    ValueError: it holds a run already.
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


def lock(path: pathlib.Path) -> None:
  """Locks a directory for this process, until the process ends.

  The lock shows that a run has just begun. Its status follows some seconds
  later, when its tasks are known.

  Raises:
    ValueError: another process has locked it.
  """
  try:
    _lock(path)
  except BlockingIOError:
    raise ValueError(
      f'a run in {path} goes on or is just beginning; stop it first, with '
      f'`python launch.py stop {path}`, or name another directory'
    ) from None
  _locked.add(path)


def is_locked(path: pathlib.Path) -> bool:
  """Whether a process has locked a directory."""
  if not (path / _LOCK).exists():
    return False
  try:
    os.close(_lock(path))
  except BlockingIOError:
    return True
  return False


def remove_if_unused(path: pathlib.Path) -> None:
  """Removes a run's directory if no run has begun there.

  No run has begun if the directory is empty and no other process has locked it.
  """
  if path not in _locked and is_locked(path):
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
  """Checks that the run in a directory can go on with a configuration.

  Args:
    path: the directory's path.
    config: the flags' values, by the flags' names.

  Raises:
    ValueError: there is no run, or a setting differs that must not.
    DamagedError: the run's configuration is damaged.
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
        f'--{name}={config.get(name)}; resume with the first value, or name '
        'another --run_dir'
      )


def holds_run(path: str | pathlib.Path) -> bool:
  """Whether a run has begun in a directory."""
  return config_path(path).exists()


def config_path(path: str | pathlib.Path) -> pathlib.Path:
  """Returns the path of the configuration of the run in a directory."""
  return pathlib.Path(path) / _CONFIG


def read_config(path: pathlib.Path) -> dict[str, Any]:
  """Returns the configuration of the run in a directory.

  Raises:
    FileNotFoundError: the directory holds no run.
    OSError: the file cannot be read.
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
    path: the directory's path.
    config: the flags' values, by the flags' names; JSON must have their types.

  Raises:
    OSError: it cannot be written.
  """
  whole_files.write(path / _CONFIG, json.dumps(config, indent=2) + '\n')
