"""Reads Minari's datasets (https://minari.farama.org) of Gymnasium."""

import importlib.util
import math

import compat  # noqa: F401

import gymnasium
import numpy as np
import tree
from acme import specs, types

from programs.data import episodes
from programs.environments import spaces


def read_episodes(
  dataset_id: str, spec: specs.EnvironmentSpec, num_episodes: int | None
) -> list[types.Transition]:
  """Returns the last episodes of a dataset that is on this machine.

  Args:
    dataset_id: the dataset's name, such as 'mujoco/hopper/expert-v0'.
    spec: the spec of the environment, as `programs.environments` makes it.
    num_episodes: number of episodes. If the dataset has fewer, all of them are
      returned. None means all episodes.

  Raises:
    ValueError: the dataset is not on this machine, or comes from another
      environment.
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
      f'minari:{dataset_id} is not on this machine; fetch it with '
      f'`minari download {dataset_id}`'
    ) from e
  newest = dataset.episode_indices[-num_episodes if num_episodes else None :]
  return [
    _to_transitions(dataset, episode, spec)
    for episode in dataset.iterate_episodes(newest)
  ]


def _to_transitions(dataset, episode, spec) -> types.Transition:
  return episodes.to_transitions(
    f'minari:{dataset.id}, episode {episode.id}',
    spec,
    _leaves(dataset.observation_space, episode.observations, spec.observations),
    _leaves(
      dataset.action_space,
      _as_agents_act(dataset.action_space, episode.actions),
      spec.actions,
    ),
    episode.rewards,
    1.0 - np.asarray(episode.terminations, np.float32),
  )


def _leaves(space: gymnasium.Space, values, spec) -> list[np.ndarray]:
  """Returns arrays in the form that `environments.adapt` gives them.

  If an array's shape or kind differs from the spec's, it stays as it is, and is
  refused later.
  """
  found = tree.flatten(spaces.to_arrays(space, values))
  wanted = tree.flatten(spec)
  if len(found) != len(wanted):
    return found
  return [_as_specified(*both) for both in zip(found, wanted, strict=True)]


def _as_specified(leaf: np.ndarray, spec: specs.Array) -> np.ndarray:
  if leaf.dtype.kind == spec.dtype.kind:
    leaf = leaf.astype(spec.dtype)
  if leaf.size == len(leaf) * math.prod(spec.shape):
    leaf = leaf.reshape(len(leaf), *spec.shape)
  return leaf


def _as_agents_act(space: gymnasium.Space, actions):
  """Returns actions as agents choose them: in [-1, 1], or counted from 0."""
  if isinstance(space, gymnasium.spaces.MultiDiscrete):
    return actions - space.start
  if not isinstance(space, gymnasium.spaces.Box) or not space.is_bounded():
    return actions
  if space.dtype.kind in 'iu':
    return actions - space.low
  width = np.where(space.high > space.low, space.high - space.low, 1)
  return 2 * (actions - space.low) / width - 1
