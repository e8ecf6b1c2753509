"""Writes the episodes of `launch.py --record` to files, and reads the files."""

import io
import os
import pathlib
import time

import compat  # noqa: F401

import dm_env
import numpy as np
import tree
from acme import specs, types
from acme.utils import observers

from programs.data import episodes
from run_files import patience, whole_files

_FOLDER = 'episodes'


class Recorder(observers.EnvLoopObserver):
  """Writes each episode of an environment loop to its own file.

  A file gets its name only when it is complete, so a killed process leaves no
  torn file.
  """

  def __init__(self, run_dir: str | pathlib.Path):
    """Makes the folder of the recorded episodes.

    Args:
      run_dir: the directory of the run.

    Raises:
      OSError: the folder cannot be made.
    """
    self._folder = pathlib.Path(run_dir) / _FOLDER
    self._folder.mkdir(parents=True, exist_ok=True)
    self._patience = patience.Patience(
      f'an episode in {self._folder}',
      'episodes are left out until one can be written',
    )

  def observe_first(
    self, env: dm_env.Environment, timestep: dm_env.TimeStep
  ) -> None:
    self._timesteps, self._actions = [timestep], []

  def observe(
    self,
    env: dm_env.Environment,
    timestep: dm_env.TimeStep,
    action: np.ndarray,
  ) -> None:
    self._timesteps.append(timestep)
    self._actions.append(action)

  def get_metrics(self) -> dict[str, float]:
    """Writes the episode that has ended; returns no metrics."""
    columns = {
      'observation': [step.observation for step in self._timesteps],
      'action': self._actions,
      'reward': [step.reward for step in self._timesteps[1:]],
      'discount': [step.discount for step in self._timesteps[1:]],
    }
    arrays = {
      f'{name}/{i}': np.stack(leaves)
      for name, rows in columns.items()
      for i, leaves in enumerate(zip(*map(tree.flatten, rows), strict=True))
    }
    path = self._folder / f'{time.time_ns()}-{os.getpid()}.npz'
    content = io.BytesIO()
    np.savez(content, **arrays)
    with self._patience.attempt():
      whole_files.write(path, content.getvalue(), durable=False)
    return {}


def read_episodes(
  run_dir: str, spec: specs.EnvironmentSpec, num_episodes: int | None
) -> list[types.Transition]:
  """Returns the newest episodes that a run has recorded.

  Args:
    run_dir: the directory of the run.
    spec: the spec of the environment that the run recorded.
    num_episodes: number of episodes. If fewer were recorded, all of them are
      returned. None means all episodes.

  Raises:
    ValueError: no episodes were recorded, or they come from another
      environment.
  """
  paths = sorted((pathlib.Path(run_dir) / _FOLDER).glob('*.npz'))
  if not paths:
    raise ValueError(
      f'{run_dir} has no recorded episodes; a run with --record records them'
    )
  newest = paths[-num_episodes:] if num_episodes else paths
  return [_read(path, spec) for path in newest]


def _read(path: pathlib.Path, spec: specs.EnvironmentSpec) -> types.Transition:
  try:
    with np.load(path, allow_pickle=False) as file:
      arrays = dict(file)
    reward, discount = arrays['reward/0'], arrays['discount/0']
  except Exception as e:  # A damaged file may raise anything.
    reason = f'{type(e).__name__}: {e}'
    raise ValueError(f'{path} is not a recorded episode: {reason}') from e

  def leaves(name: str) -> list[np.ndarray]:
    return [a for key, a in arrays.items() if key.startswith(f'{name}/')]

  return episodes.to_transitions(
    str(path),
    spec,
    leaves('observation'),
    leaves('action'),
    reward,
    discount,
  )
