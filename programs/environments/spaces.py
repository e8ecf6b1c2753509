"""Gymnasium's spaces as dm_env's specs, and values from one to the other."""

import numpy as np
from dm_env import specs
from gymnasium import spaces

from programs.environments.errors import UnfitEnvironmentError


def to_spec(space: spaces.Space, name: str):
  """Returns the spec, or nest of specs, of the values of a space.

  Args:
    space: Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or Tuple of
      these to any depth. A Dict becomes a dict, a Tuple a tuple.
    name: what the values are, for the specs and for errors.

  Raises:
    UnfitEnvironmentError: the space, or one inside it, is of another kind.
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
    raise UnfitEnvironmentError(
      f'{name}: a {type(space).__name__} space has no array spec. Wrap the '
      'environment so that it has a Box, Discrete, MultiDiscrete, MultiBinary, '
      'Dict or Tuple space here.'
    )
  return specs.BoundedArray(space.shape, space.dtype, low, high, name)


def to_arrays(space: spaces.Space, value, name: str = 'observation'):
  """Returns a space's value as the nest of arrays that `to_spec` describes.

  Their shapes and dtypes are those of the value, right or wrong.

  Args:
    space: of which kinds, see `to_spec`.
    value: of the space.
    name: what the value is, for errors.

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
    # A DiscreteArray counts from 0, a Discrete space from where it likes.
    value = value - space.start
  return np.asarray(value)


def _part(value, key, name: str):
  try:
    return value[key]
  except (IndexError, KeyError, TypeError) as e:
    raise UnfitEnvironmentError(
      f'the {name} has no part {key!r}, and its space does'
    ) from e


def to_action(space: spaces.Space, action):
  """Returns a nest of arrays as a space's value: the inverse of `to_arrays`."""
  if isinstance(space, spaces.Dict):
    return {k: to_action(s, action[k]) for k, s in space.spaces.items()}
  if isinstance(space, spaces.Tuple):
    return tuple(map(to_action, space.spaces, action))
  if isinstance(space, spaces.Discrete):
    return space.dtype.type(action) + space.start
  action = np.asarray(action, space.dtype)
  if isinstance(space, spaces.Box):
    # Scaling from [-1, 1] in float32 can end one ulp outside.
    return np.asarray(np.clip(action, space.low, space.high))
  return action
