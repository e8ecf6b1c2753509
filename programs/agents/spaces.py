"""Which actions and observations an agent takes: checked before all else."""

import math
from collections.abc import Mapping
from typing import Any

import compat  # noqa: F401

import numpy as np
import tree
from acme import specs

from programs.agents import configs

_IMAGE_RANK = 3
_MAX_CHANNELS = 4
_MEANING = {
  'actions': 'continuous: floats with finite bounds; discrete: one integer',
  'observations': 'a vector is of floats, and of one axis',
}


def is_discrete(actions: specs.Array) -> bool:
  """Whether an action is one choice among several."""
  return isinstance(actions, specs.DiscreteArray)


def channels_axis(shape: tuple[int, ...]) -> int:
  """Returns where a picture has its channels: first, 0, or last, -1.

  Up to four of the last axis are channels, and so are up to four of the first
  otherwise; of more, the first axis has them if it is the shortest.

  Args:
    shape: of the picture, of three axes.

  Raises:
    ValueError: the middle axis alone could have them.
  """
  first, middle, last = shape
  if last <= _MAX_CHANNELS:
    return -1
  if first <= _MAX_CHANNELS or first < min(middle, last):
    return 0
  if middle <= _MAX_CHANNELS:
    raise ValueError(
      f'a picture of shape {shape} has its channels on the middle axis; agents '
      'take them on the last axis, or on the first'
    )
  return -1


def check(agent: str, spec: specs.EnvironmentSpec) -> None:
  """Raises `ValueError` unless an agent takes an environment of such specs."""
  for what, part in (('rewards', spec.rewards), ('discounts', spec.discounts)):
    if not isinstance(part, specs.Array) or part.shape:
      raise ValueError(
        f'{agent} takes one number as {what}, this environment has '
        f'{_describe(part)}'
      )
  sizes = [math.prod(part.shape) for part in tree.flatten(spec.observations)]
  if not sum(sizes):
    raise ValueError(
      f'{agent} takes observations, and those of this environment have no '
      'elements'
    )
  action, observation = (
    _action_kind(spec.actions),
    _observation_kind(spec.observations),
  )
  for what, found, kind, taken in (
    ('actions', spec.actions, action, configs.ACTIONS),
    ('observations', spec.observations, observation, configs.OBSERVATIONS),
  ):
    if kind in taken[agent]:
      continue
    others = [
      name
      for name in configs.CONFIGS
      if action in configs.ACTIONS[name]
      and observation in configs.OBSERVATIONS[name]
    ]
    raise ValueError(
      f'{agent} takes {" or ".join(taken[agent])} {what} ({_MEANING[what]}), '
      f'this environment has {_describe(found)}; agents that fit it: '
      f'{", ".join(others) or "none"}'
    )
  if observation == 'image':
    channels_axis(spec.observations.shape)


def _describe(nest: Any) -> str:
  """Returns a nest of specs in a few words, such as float32[2] in [-1, 1]."""
  if isinstance(nest, Mapping):
    parts = [f'{key}: {_describe(part)}' for key, part in nest.items()]
    return f'{{{", ".join(parts)}}}'
  if not isinstance(nest, specs.Array):
    return f'({", ".join(map(_describe, nest))})'
  if is_discrete(nest):
    return f'a choice among {nest.num_values}'
  text = f'{nest.dtype}{list(nest.shape)}'
  if not isinstance(nest, specs.BoundedArray):
    return f'{text} without bounds'
  if not nest.minimum.size:
    return text
  low, high = float(nest.minimum.min()), float(nest.maximum.max())
  return f'{text} in [{low:g}, {high:g}]'


def _action_kind(actions: specs.Array) -> str | None:
  if is_discrete(actions):
    return 'discrete'
  if (
    isinstance(actions, specs.BoundedArray)
    and np.issubdtype(actions.dtype, np.floating)
    and len(actions.shape) == 1
    and actions.shape[0] > 0
    and np.all(actions.minimum == -1)
    and np.all(actions.maximum == 1)
  ):
    return 'continuous'
  return None


def _observation_kind(observations: Any) -> str:
  if not isinstance(observations, specs.Array):
    return 'nested'
  rank = len(observations.shape)
  if rank == _IMAGE_RANK:
    return 'image'
  is_floating = np.issubdtype(observations.dtype, np.floating)
  return 'vector' if rank == 1 and is_floating else 'other'
