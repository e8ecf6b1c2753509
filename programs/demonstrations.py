"""Episodes recorded by runs of this template, and transitions learned from.

`launch.py --record` has actors and evaluators record every episode into a file
of the run directory; `--demonstrations` names that directory to a run of an
agent that imitates.
"""

import dataclasses
import os
import pathlib
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import compat  # noqa: F401

import dm_env
import numpy as np
import reverb
import tree
from acme import specs, types
from acme.utils import observers

_FOLDER = 'episodes'


class Recorder(observers.EnvLoopObserver):
  """Writes each episode that a loop plays into a file of its own.

  A file is whole before it gets its name, so that a kill leaves no half of one.
  """

  def __init__(self, run_dir: str | pathlib.Path):
    """Makes the folder.

    Raises:
      OSError: it cannot be made.
    """
    self._folder = pathlib.Path(run_dir) / _FOLDER
    self._folder.mkdir(parents=True, exist_ok=True)

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
    """Writes the episode that has ended; there is nothing to log."""
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
    unfinished = path.with_suffix('.unfinished')
    with open(unfinished, 'wb') as file:
      np.savez(file, **arrays)
    unfinished.rename(path)
    return {}


@dataclasses.dataclass(frozen=True)
class Demonstrations:
  """What an agent imitates: the last episodes that a run has recorded.

  Not the best, which would be those that began best.

  Attributes:
    run_dir: of that run.
    environment_spec: of the environment that it recorded.
    seed: of the order in which transitions are drawn.
  """

  run_dir: str
  environment_spec: specs.EnvironmentSpec
  seed: int = 0

  def load(self, num_episodes: int | None = None) -> types.Transition:
    """Returns the transitions of the newest episodes.

    Args:
      num_episodes: how many, or fewer if fewer were recorded; None is all.

    Returns:
      Nests of [n, ...] of the spec's dtypes; the discount is the environment's.

    Raises:
      ValueError: there are no episodes, or they are of another environment.
    """
    paths = sorted((pathlib.Path(self.run_dir) / _FOLDER).glob('*.npz'))
    if not paths:
      raise ValueError(
        f'{self.run_dir} holds no recorded episodes; a run with --record '
        'records them'
      )
    newest = paths[-num_episodes:] if num_episodes else paths
    episodes = [_read(path, self.environment_spec) for path in newest]
    return tree.map_structure(lambda *leaves: np.concatenate(leaves), *episodes)

  def batches(
    self, batch_size: int, num_episodes: int | None = None
  ) -> Iterator[types.Transition]:
    """Yields batches for ever, drawn uniformly and with replacement.

    Args:
      batch_size: of each nest of [batch_size, ...].
      num_episodes: as in `load`, which is called at the first batch.
    """
    random = np.random.default_rng(self.seed)
    transitions = self.load(num_episodes)
    count = len(transitions.reward)
    while True:
      rows = random.integers(count, size=batch_size)
      yield tree.map_structure(lambda x, rows=rows: x[rows], transitions)


def replay_samples(
  config: Any, demonstrations: Demonstrations
) -> Iterator[reverb.ReplaySample]:
  """Yields recorded transitions as replay would, with equal priorities.

  Args:
    config: of an agent; tells `batch_size`.
    demonstrations: of which all episodes are drawn from.
  """
  ones = np.ones(config.batch_size)
  info = reverb.SampleInfo(**dict.fromkeys(reverb.SampleInfo._fields, ones))
  for transitions in demonstrations.batches(config.batch_size):
    yield reverb.ReplaySample(info, transitions)


def _read(path: pathlib.Path, spec: specs.EnvironmentSpec) -> types.Transition:
  try:
    with np.load(path) as file:
      arrays = dict(file)
  except (OSError, ValueError, zipfile.BadZipFile) as e:
    raise ValueError(f'{path} is no recorded episode: {e}') from e

  def nest(name: str, like: Any) -> Any:
    leaves = [a for key, a in arrays.items() if key.startswith(f'{name}/')]
    wanted = tree.flatten(like)
    if [(a.shape[1:], a.dtype) for a in leaves] != [
      (tuple(s.shape), np.dtype(s.dtype)) for s in wanted
    ]:
      raise ValueError(
        f'{path} was recorded in another environment: its {name} is '
        f'{[(a.shape[1:], a.dtype.name) for a in leaves]}, this one has '
        f'{[(tuple(s.shape), np.dtype(s.dtype).name) for s in wanted]}'
      )
    return tree.unflatten_as(like, leaves)

  observations = nest('observation', spec.observations)
  return types.Transition(
    observation=tree.map_structure(lambda x: x[:-1], observations),
    action=nest('action', spec.actions),
    reward=arrays['reward/0'].astype(np.float32),
    discount=arrays['discount/0'].astype(np.float32),
    next_observation=tree.map_structure(lambda x: x[1:], observations),
  )
