"""Converts Gymnasium's spaces to dm_env's specs, and values both ways."""

import numpy as np
from dm_env import specs
from gymnasium import spaces

from programs.environments import errors


def to_spec(space: spaces.Space, name: str):
  """Returns the spec, or nest of specs, of the values of a space.

  Args:
    space: a Box, Discrete, MultiDiscrete or MultiBinary space, or a Dict or
      Tuple of such spaces, to any depth. A Dict becomes a dict, a Tuple a
      tuple.
    name: what the values are, such as 'action', for the specs and for errors.

  Raises:
    UnfitEnvironmentError: the space, or a space inside it, is of another kind.
  """
  if isinstance(space, spaces.Dict):
    return {k: to_spec(s, f'{name}/{k}') for k, s in space.spaces.items()}
  if isinstance(space, spaces.Tuple):
    return tuple(to_spec(s, f'{name}/{i}') for i, s in enumerate(space.spaces))
  if isinstance(space, spaces.Discrete):
    return specs.DiscreteArray(int(space.n), dtype=space.dtype, name=name)
  if isinstance(space, spaces.Box):
    if not (space.bounded_below | space.bounded_above).any():
      return specs.Array(space.shape, space.dtype, name)
    low, high = space.low, space.high
  elif isinstance(space, spaces.MultiDiscrete):
    low, high = space.start, space.start + space.nvec - 1
  elif isinstance(space, spaces.MultiBinary):
    low, high = 0, 1
  else:
    raise errors.UnfitEnvironmentError(
      f'{name}: a {type(space).__name__} space has no array spec. Wrap the '
      'environment so that it has a Box, Discrete, MultiDiscrete, MultiBinary, '
      'Dict or Tuple space here.'
    )
  return specs.BoundedArray(space.shape, space.dtype, low, high, name)


def to_arrays(space: spaces.Space, value, name: str = 'observation'):
  """Returns a space's value as the nest of arrays that `to_spec` describes.

  The arrays have the value's shapes and dtypes, even if these are wrong.

  Args:
    space: a space that `to_spec` takes.
    value: a value of the space.
    name: what the value is, such as 'observation', for errors.

  Raises:
    UnfitEnvironmentError: a part of a Dict or Tuple is missing.
  """
  if isinstance(space, spaces.Dict):
    return {
      k: to_arrays(s, _part(value, k, name), f'{name}/{k}')
      for k, s in space.spaces.items()
    }
  if isinstance(space, spaces.Tuple):
    return tuple(
      to_arrays(s, _part(value, i, name), f'{name}/{i}')
      for i, s in enumerate(space.spaces)
    )
  if isinstance(space, spaces.Discrete):
    # A DiscreteArray counts from 0, but a Discrete space from its `start`.
    value = value - space.start
  return np.asarray(value)


def _part(value, key, name: str):
  try:
    return value[key]
  except (IndexError, KeyError, TypeError) as e:
    raise errors.UnfitEnvironmentError(
      f'the {name} has no part {key!r}, but its space has'
    ) from e


def to_action(space: spaces.Space, action):
  """Returns a space's value from a nest of arrays; reverses `to_arrays`."""
  if isinstance(space, spaces.Dict):
    return {k: to_action(s, action[k]) for k, s in space.spaces.items()}
  if isinstance(space, spaces.Tuple):
    return tuple(map(to_action, space.spaces, action))
  if isinstance(space, spaces.Discrete):
    return space.dtype.type(action) + space.start
  action = np.asarray(action, space.dtype)
  if isinstance(space, spaces.Box):
    # Because of rounding, a scaled action may be just outside the bounds.
    return np.asarray(np.clip(action, space.low, space.high))
  return action
