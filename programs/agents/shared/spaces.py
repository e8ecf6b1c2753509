"""Checks that an agent takes an environment's actions and observations."""

import enum
import math
from collections.abc import Mapping, Sequence
from typing import Any

import compat  # noqa: F401

import numpy as np
import tree
from acme import specs

from programs.agents.shared import description

_IMAGE_RANK = 3
_MAX_CHANNELS = 4


def is_discrete(actions: specs.Array) -> bool:
  """Whether an action is one of several choices."""
  return isinstance(actions, specs.DiscreteArray)


def channels_axis(shape: tuple[int, ...]) -> int:
  """Returns the axis of an image's channels: 0 for the first, -1 for the last.

  It is an axis of up to four elements: the last axis rather than the first if
  both are so short. If neither is, it is the first axis if that is the shortest
  of all, and otherwise the last.

  Args:
    shape: the lengths of the image's three axes.

  Raises:
    ValueError: only the middle axis can be the channels' axis.
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


def check(
  name: str,
  agent: description.Agent,
  spec: specs.EnvironmentSpec,
  others: Mapping[str, description.Agent],
) -> None:
  """Raises `ValueError` unless an agent takes an environment with these specs.

  Args:
    name: the agent's name.
    agent: the agent's description.
    spec: the environment's specs.
    others: agents' descriptions by their names. The error names the agents that
      fit the environment.
  """
  if agent.actions is None and agent.observations is None:
    return
  _check_scalars(name, spec)
  if not _takes(agent.actions, _actions_kind(spec.actions)):
    raise ValueError(
      f'{name} takes {_words(agent.actions)} actions (continuous: floats with '
      'finite bounds; discrete: one integer), '
      + _misfit(spec, spec.actions, others)
    )
  observations = _observations_kind(spec.observations)
  if not _takes(agent.observations, observations):
    raise ValueError(
      f'{name} takes {_words(agent.observations)} observations (a vector is of '
      'floats, and of one axis), ' + _misfit(spec, spec.observations, others)
    )
  if agent.observations and observations is description.Observations.IMAGE:
    channels_axis(spec.observations.shape)


def _check_scalars(name: str, spec: specs.EnvironmentSpec) -> None:
  for what, part in (('rewards', spec.rewards), ('discounts', spec.discounts)):
    if not isinstance(part, specs.Array) or part.shape:
      raise ValueError(
        f'{name} takes one number as {what}, this environment has '
        f'{_describe(part)}'
      )
  sizes = [math.prod(part.shape) for part in tree.flatten(spec.observations)]
  if not sum(sizes):
    raise ValueError(
      f'{name} takes observations, and those of this environment have no '
      'elements'
    )


def _misfit(
  spec: specs.EnvironmentSpec,
  part: Any,
  others: Mapping[str, description.Agent],
) -> str:
  """Returns the end of an error's text: which agents fit instead.

  Args:
    spec: the environment's specs.
    part: the specs of the actions or observations that do not fit.
    others: agents' descriptions by their names.
  """
  actions = _actions_kind(spec.actions)
  observations = _observations_kind(spec.observations)
  fit = [
    name
    for name, other in others.items()
    if _takes(other.actions, actions)
    and _takes(other.observations, observations)
  ]
  return (
    f'this environment has {_describe(part)}; agents that fit it: '
    f'{", ".join(fit) or "none"}'
  )


def _takes(kinds: Sequence[enum.Enum] | None, kind: enum.Enum | None) -> bool:
  return kinds is None or kind in kinds


def _words(kinds: Sequence[enum.Enum]) -> str:
  return ' or '.join(kind.value for kind in kinds)


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


def _actions_kind(actions: Any) -> description.Actions | None:
  if is_discrete(actions):
    return description.Actions.DISCRETE
  if (
    isinstance(actions, specs.BoundedArray)
    and np.issubdtype(actions.dtype, np.floating)
    and len(actions.shape) == 1
    and actions.shape[0] > 0
    and np.all(actions.minimum == -1)
    and np.all(actions.maximum == 1)
  ):
    return description.Actions.CONTINUOUS
  return None


def _observations_kind(observations: Any) -> description.Observations:
  if not isinstance(observations, specs.Array):
    return description.Observations.NESTED
  rank = len(observations.shape)
  if rank == _IMAGE_RANK:
    return description.Observations.IMAGE
  if rank == 1 and np.issubdtype(observations.dtype, np.floating):
    return description.Observations.VECTOR
  return description.Observations.OTHER
