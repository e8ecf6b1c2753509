"""Minari's datasets (https://minari.farama.org) of Gymnasium's environments."""

import importlib.util

import compat  # noqa: F401

import gymnasium
import numpy as np
import tree
from acme import specs, types

from programs import episodes
from programs.environments import spaces


def read_episodes(
  dataset_id: str, spec: specs.EnvironmentSpec, num_episodes: int | None
) -> list[types.Transition]:
  """Returns the last episodes of a dataset that is on this machine.

  Args:
    dataset_id: such as 'mujoco/hopper/expert-v0'.
    spec: of the environment, as `programs.environments` makes it.
    num_episodes: how many, or fewer if fewer there are; None is all.

  Raises:
    ValueError: it is not here, or is of another environment.
  """
  if importlib.util.find_spec('minari') is None:
    raise ValueError(
      f"minari:{dataset_id} needs minari: pip install -e '.[minari]'"
    )
  import minari

  try:
    dataset = minari.load_dataset(dataset_id)
  except FileNotFoundError as e:
    raise ValueError(
      f'minari:{dataset_id} is not on this machine; fetch it by '
      f'`minari download {dataset_id}`'
    ) from e
  newest = dataset.episode_indices[-num_episodes if num_episodes else None :]
  return [
    _to_transitions(dataset, episode, spec)
    for episode in dataset.iterate_episodes(newest)
  ]


def _to_transitions(dataset, episode, spec) -> types.Transition:
  return episodes.to_transitions(
    f'minari:{dataset.id}',
    spec,
    _leaves(dataset.observation_space, episode.observations),
    _leaves(dataset.action_space, _scaled(dataset.action_space, episode)),
    episode.rewards,
    1.0 - np.asarray(episode.terminations, np.float32),
  )


def _leaves(space: gymnasium.Space, values) -> list[np.ndarray]:
  """Returns arrays as the environment gives them, floats in 32 bits."""
  return [
    leaf.astype(np.float32) if leaf.dtype == np.float64 else leaf
    for leaf in tree.flatten(spaces.to_arrays(space, values))
  ]


def _scaled(space: gymnasium.Space, episode):
  """Returns actions in [-1, 1], as agents here see those with bounds."""
  if not isinstance(space, gymnasium.spaces.Box) or not space.is_bounded():
    return episode.actions
  return 2 * (episode.actions - space.low) / (space.high - space.low) - 1
