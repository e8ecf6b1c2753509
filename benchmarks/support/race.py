"""The sides of `benchmarks.single_machine`: how each starts and progresses."""

import contextlib
import csv
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from benchmarks.peers import progress
from benchmarks.support import sides
from run_files import metric_names, metrics

OURS = 'this program'
_ROOT = pathlib.Path(__file__).parents[2]
_ENDLESS = 10**9
_END_SECONDS = 10.0
# For each peer: its environment, and further arguments of its script.
_PEERS: Mapping[str, tuple[str, ...]] = {
  'SBX': ('sbx',),
  'SBX, 8 at once': ('sbx', '8'),
  'Sample Factory': ('sample_factory',),
  'RLlib': ('rllib',),
}


class Work(NamedTuple):
  """What all sides of a race do.

  Attributes:
    flags: the flags of `launch.py`.
    updates: gradient steps in a step of this program's learner.
    goal: the return to reach.
    peers: who runs beside this program.
  """

  flags: tuple[str, ...]
  updates: int
  goal: float
  peers: tuple[str, ...]


WORKS: Mapping[str, Work] = {
  'sac': Work(
    (
      '--agent=sac',
      '--env=gym:Pendulum-v1',
      '--num_actors=1',
      '--config=batch_size=256,gradient_steps_at_once=8',
    ),
    8,
    -250.0,
    ('SBX', 'SBX, 8 at once'),
  ),
  'ppo': Work(
    (
      '--agent=ppo',
      '--env=gym:CartPole-v1',
      '--num_actors=2',
      '--envs_per_actor=16',
      '--config=learning_rate=1e-3,unroll_length=32,batch_size=32',
    ),
    64,
    475.0,
    ('SBX', 'Sample Factory', 'RLlib'),
  ),
  'impala': Work(
    (
      '--agent=impala',
      '--env=gym:CartPole-v1',
      '--num_actors=2',
      '--envs_per_actor=8',
    ),
    1,
    475.0,
    ('RLlib',),
  ),
}


class Point(NamedTuple):
  """How far a side is.

  Attributes:
    time: the Unix time in seconds.
    steps: environment steps so far.
    updates: gradient steps so far.
    episode_return: mean return of the last training episodes; NaN before there
      are enough.
  """

  time: float
  steps: float
  updates: float
  episode_return: float


def python(side: str) -> pathlib.Path:
  """Returns the interpreter of a peer's environment."""
  return _ROOT / '.peers' / _PEERS[side][0] / 'bin' / 'python'


@contextlib.contextmanager
def running(work: str, side: str, directory: str) -> Iterator[subprocess.Popen]:
  """Starts a side, and at the end kills all its processes.

  Args:
    work: a key of `WORKS`.
    side: `OURS` or one of the work's peers.
    directory: a folder for all files that the side writes.
  """
  env = dict(os.environ, CUDA_VISIBLE_DEVICES='', PYTHONPATH='')
  end_seconds = _END_SECONDS if side == OURS else 0.0
  command = _command(work, side, directory)
  with sides.started(command, env, directory, end_seconds) as process:
    yield process


def _command(work: str, side: str, directory: str) -> list[str]:
  if side == OURS:
    return [
      sys.executable,
      'launch.py',
      *WORKS[work].flags,
      f'--num_steps={_ENDLESS}',
      f'--run_dir={directory}/run',
    ]
  name, *arguments = _PEERS[side]
  script = f'benchmarks/peers/run_{name}.py'
  progress_csv = f'{directory}/progress.csv'
  return [str(python(side)), script, work, progress_csv, *arguments]


def points(work: str, side: str, directory: str) -> list[Point]:
  """Returns what a side has reported so far, in the order of time."""
  if side == OURS:
    return _own_points(f'{directory}/run', WORKS[work].updates)
  try:
    text = pathlib.Path(directory, 'progress.csv').read_text()
  except FileNotFoundError:
    return []
  lines = text[: text.rfind('\n') + 1].splitlines()
  return [Point(*map(float, row)) for row in list(csv.reader(lines))[1:]]


def _own_points(run_dir: str, updates_per_step: int) -> list[Point]:
  """Returns a point for each row of the actors and of the learner."""
  rows = [
    row
    for label in ('actor', 'learner')
    for file in metrics.read(run_dir, label)
    for row in file
  ]
  found, returns, steps, updates = [], [], 0.0, 0.0
  for row in sorted(rows, key=lambda row: row[metric_names.TIME]):
    steps = max(steps, row.get('actor/steps', 0.0))
    updates = max(updates, row.get('learner/steps', 0.0) * updates_per_step)
    if 'actor/episode_return' in row:
      returns.append(row['actor/episode_return'])
    last = returns[-progress.EPISODES :]
    is_known = len(last) == progress.EPISODES
    mean = sum(last) / len(last) if is_known else float('nan')
    found.append(Point(row[metric_names.TIME], steps, updates, mean))
  return found
