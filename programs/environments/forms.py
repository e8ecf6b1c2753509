"""Changes specs to the form that agents take.

That form has a few dtypes only, and two forms of actions.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dm_env import specs

from programs.environments import errors

# Bounds as far apart as this, such as float32's, count as no bounds.
_NO_RANGE = 1e30
# Integers with this many possible values or more are numbers, not choices.
_MAX_CHOICES = 2**16
# The integer dtypes that every part of the program supports.
_KEPT_INTEGERS = ('int8', 'uint8', 'int16', 'int32')

# A function from an agent's action to the environment's action.
ToAction = Callable[[Any], np.ndarray]


def is_numeric(dtype: np.dtype) -> bool:
  """Whether values of a dtype are real numbers or booleans."""
  return dtype.kind in 'biuf' or dtype.name == 'bfloat16'


def observation(spec: specs.Array, name: str) -> specs.Array:
  """Returns an observation's spec, with the dtype that agents take.

  Args:
    spec: the environment's spec.
    name: what the values are, such as 'observation', for the error.

  Raises:
    UnfitEnvironmentError: the values are not numbers.
  """
  if not isinstance(spec, specs.Array):
    raise errors.UnfitEnvironmentError(
      f'the {name} is described by {spec!r:.80}, which is no spec of dm_env'
    )
  if not is_numeric(spec.dtype):
    raise errors.UnfitEnvironmentError(
      f'the {name} has dtype {spec.dtype}, and agents take bool, integers and '
      'floats; wrap the environment'
    )
  dtype = _agents_dtype(spec.dtype)
  if dtype == np.int32 and not _fits(spec, dtype):
    dtype = np.dtype(np.float32)
  return _with_dtype(spec, dtype)


def _fits(spec: specs.Array, dtype: np.dtype) -> bool:
  limits = np.iinfo(dtype)
  return not isinstance(spec, specs.BoundedArray) or bool(
    np.all(spec.minimum >= limits.min) and np.all(spec.maximum <= limits.max)
  )


def number(spec: specs.Array, name: str) -> specs.Array:
  """Returns the spec of a reward or discount: a float32 scalar if possible.

  Args:
    spec: the environment's spec.
    name: what the values are, such as 'reward', for the error.

  Raises:
    UnfitEnvironmentError: the values are not numbers.
  """
  spec = _with_dtype(observation(spec, name), np.dtype(np.float32))
  if spec.shape == () or math.prod(spec.shape) != 1:
    return spec
  if not isinstance(spec, specs.BoundedArray):
    return specs.Array((), spec.dtype, spec.name)
  bounds = [bound.reshape(()) for bound in (spec.minimum, spec.maximum)]
  return specs.BoundedArray((), spec.dtype, *bounds, spec.name)


def _agents_dtype(dtype: np.dtype) -> np.dtype:
  if dtype.kind in 'iu':
    return dtype if dtype.name in _KEPT_INTEGERS else np.dtype(np.int32)
  return dtype if dtype.kind == 'b' else np.dtype(np.float32)


def _with_dtype(spec: specs.Array, dtype: np.dtype) -> specs.Array:
  if dtype == spec.dtype:
    return spec
  if isinstance(spec, specs.DiscreteArray) and dtype.kind == 'i':
    return specs.DiscreteArray(spec.num_values, dtype, spec.name)
  if not isinstance(spec, specs.BoundedArray):
    return specs.Array(spec.shape, dtype, spec.name)
  # A bound that float32 does not hold becomes infinite, which is no bound.
  with np.errstate(over='ignore'):
    bounds = [bound.astype(dtype) for bound in (spec.minimum, spec.maximum)]
    return specs.BoundedArray(spec.shape, dtype, *bounds, spec.name)


def action(spec: specs.Array) -> tuple[specs.Array, ToAction]:
  """Returns an action's spec for agents, and a function to convert actions.

  If no agent here takes such actions, for example several integers, the action
  keeps its shape.

  Args:
    spec: the environment's spec.

  Returns:
    The spec of the agent's action, and a function from the agent's action to
    the environment's.
  """
  if not isinstance(spec, specs.BoundedArray):
    return observation(spec, 'action'), _caster(spec)
  low, high = np.broadcast_arrays(spec.minimum, spec.maximum)
  if spec.dtype.kind == 'f' and _is_bounded(low, high):
    return _scaled_action(spec, low, high)
  if spec.dtype.kind in 'iu' and math.prod(spec.shape) == 1:
    first, last = int(low.flat[0]), int(high.flat[0])
    if last - first < _MAX_CHOICES:
      choices = specs.DiscreteArray(last - first + 1, np.int32, spec.name)
      return choices, lambda choice: np.full(
        spec.shape, first + int(choice), spec.dtype
      )
  return observation(spec, 'action'), _caster(spec)


def _is_bounded(low: np.ndarray, high: np.ndarray) -> bool:
  with np.errstate(over='ignore'):
    return bool(np.all(high.astype(float) - low < _NO_RANGE))


def _scaled_action(
  spec: specs.BoundedArray, low: np.ndarray, high: np.ndarray
) -> tuple[specs.Array, ToAction]:
  """Returns what `action` does, for an action that is scaled to [-1, 1]."""
  low, high = (
    np.broadcast_to(b, spec.shape).astype(float) for b in (low, high)
  )

  def to_action(agents_action: Any) -> np.ndarray:
    share = (np.clip(np.asarray(agents_action, float), -1, 1) + 1) / 2
    scaled = low + share.reshape(spec.shape) * (high - low)
    # Because of rounding, a sum may be just outside the bounds.
    return np.clip(scaled, low, high).astype(spec.dtype)

  shape = (math.prod(spec.shape),)
  return specs.BoundedArray(shape, np.float32, -1, 1, spec.name), to_action


def _caster(spec: specs.Array) -> ToAction:
  return lambda agents_action: np.asarray(agents_action, spec.dtype)
