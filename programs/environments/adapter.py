"""Any environment in the one form that agents take, checked at each step."""

import math
from collections.abc import Callable
from typing import Any

import compat  # noqa: F401

import dm_env
import numpy as np
import tree
from acme import wrappers
from dm_env import specs

from programs.environments.errors import UnfitEnvironmentError

# Wider than this, a range stands for "unbounded", as float32's own does.
_NO_RANGE = 1e30
# More than this, integers are numbers rather than choices.
_MAX_CHOICES = 2**16
# The integers that every part of the program keeps as they are.
_KEPT_INTEGERS = ('int8', 'uint8', 'int16', 'int32')

# Returns an environment's action of an agent's.
_ToAction = Callable[[Any], np.ndarray]


class AdaptedEnvironment(wrappers.EnvironmentWrapper):
  """An environment in the form that agents take.

  - Observations are contiguous copies of the dtype that the spec has here:
    floats of all sizes become float32, other integers than small ones int32,
    or float32 if their bounds are wider.
  - Rewards and discounts are float32, and scalars if they have one element.
  - Continuous actions with bounds are float32[n] in [-1, 1], whatever their
    shape and dtype, and clipped; a bounded integer that is alone in its array,
    of whatever shape, is a choice that counts from 0.

  What the environment gives is checked against its specs: the structure and the
  shape must be those, and no value may be lost on the way to the dtype here.
  Values outside the bounds pass, since the bounds are a hint to networks alone.
  """

  def __init__(self, environment: dm_env.Environment):
    """Wraps an environment.

    Raises:
      UnfitEnvironmentError: a spec is of what has no place in an agent.
    """
    super().__init__(environment)
    self._observations = _Values('observation', environment.observation_spec())
    self._rewards = _Values('reward', environment.reward_spec(), _to_scalar)
    self._discounts = _Values(
      'discount', environment.discount_spec(), _to_scalar
    )
    actions = environment.action_spec()
    adapted = [_adapt_action(spec) for spec in tree.flatten(actions)]
    self._action_spec = tree.unflatten_as(actions, [a for a, _ in adapted])
    self._to_actions = [to_action for _, to_action in adapted]

  def reset(self) -> dm_env.TimeStep:
    return self._convert(self._environment.reset())

  def step(self, action: Any) -> dm_env.TimeStep:
    parts = tree.flatten_up_to(self._action_spec, action, check_types=False)
    leaves = [f(part) for f, part in zip(self._to_actions, parts, strict=True)]
    action = tree.unflatten_as(self._action_spec, leaves)
    return self._convert(self._environment.step(action))

  def _convert(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
    observation = self._observations.convert(timestep.observation)
    if timestep.first():
      return timestep._replace(observation=observation)
    return timestep._replace(
      observation=observation,
      reward=self._rewards.convert(timestep.reward),
      discount=self._discounts.convert(timestep.discount),
    )

  def observation_spec(self):
    return self._observations.spec

  def action_spec(self):
    return self._action_spec

  def reward_spec(self):
    return self._rewards.spec

  def discount_spec(self):
    return self._discounts.spec


def try_out(environment: dm_env.Environment) -> None:
  """Resets an environment and takes a step, which shows what does not fit.

  Args:
    environment: as `AdaptedEnvironment` makes it.

  Raises:
    UnfitEnvironmentError: it gives something else than its specs say.
  """
  environment.reset()
  actions = environment.action_spec()
  environment.step(tree.map_structure(lambda s: s.generate_value(), actions))


class _Values:
  """Converts the values of a nest of specs.

  Attributes:
    spec: the nest, as it is here.
  """

  def __init__(
    self,
    name: str,
    spec: Any,
    adapt: Callable[[specs.Array, str], specs.Array] | None = None,
  ):
    """Adapts the specs.

    Args:
      name: what the values are, for errors.
      spec: the environment's nest.
      adapt: makes a spec as it is here of a spec and its name.
    """
    self._name = name
    self.spec = tree.map_structure_with_path(
      lambda path, leaf: (adapt or _to_observation)(leaf, _join(name, path)),
      spec,
    )
    self._leaves = [
      (_join(name, path), leaf)
      for path, leaf in tree.flatten_with_path(self.spec)
    ]

  def convert(self, value: Any) -> Any:
    """Returns a nest of arrays, each as its spec here says."""
    try:
      parts = tree.flatten_up_to(self.spec, value, check_types=False)
    except (TypeError, ValueError) as e:
      text = ' '.join(str(e).split())
      raise UnfitEnvironmentError(
        f'the {self._name} is not of the structure of its spec: {text}'
      ) from e
    arrays = [
      _convert_leaf(part, spec, name)
      for part, (name, spec) in zip(parts, self._leaves, strict=True)
    ]
    return tree.unflatten_as(self.spec, arrays)


def _join(name: str, path: tuple[Any, ...]) -> str:
  return '/'.join([name, *map(str, path)])


def _convert_leaf(value: Any, spec: specs.Array, name: str) -> np.ndarray:
  try:
    array = np.asarray(value)
  except ValueError as e:  # Lists of several lengths.
    raise UnfitEnvironmentError(f'the {name} is no array: {e}') from e
  if array.shape != spec.shape and not (array.size == 1 and not spec.shape):
    raise UnfitEnvironmentError(
      f'the {name} has shape {array.shape}, and its spec {spec.shape}'
    )
  if not _is_numeric(array.dtype):
    raise UnfitEnvironmentError(
      f'the {name} is {array.tolist()!r:.80}, of dtype {array.dtype}, and its '
      f'spec says {spec.dtype}'
    )
  # What comes of a value that does not fit is looked at next.
  with np.errstate(all='ignore'):
    cast = array.astype(spec.dtype, order='C').reshape(spec.shape)
  if cast.dtype != array.dtype and not _is_same(array, cast):
    lost = array.reshape(spec.shape)[~_kept(array, cast)].flat[0]
    raise UnfitEnvironmentError(
      f'the {name} has the value {lost}, which {spec.dtype} does not hold; '
      'scale it in the environment, or give its space another dtype'
    )
  return cast


def _is_same(array: np.ndarray, cast: np.ndarray) -> bool:
  # Of floats only what is no longer finite counts, and that is rare.
  is_float = cast.dtype == np.float32
  return bool(is_float and np.isfinite(cast).all()) or _kept(array, cast).all()


def _kept(array: np.ndarray, cast: np.ndarray) -> np.ndarray:
  array = array.reshape(cast.shape)
  if cast.dtype == np.float32:
    return np.isfinite(cast) | ~np.isfinite(array.astype(np.longdouble))
  return np.asarray(cast == array)


def _is_numeric(dtype: np.dtype) -> bool:
  return dtype.kind in 'biuf' or dtype.name == 'bfloat16'


def _to_observation(spec: specs.Array, name: str) -> specs.Array:
  """Returns a spec of the dtype that it has here."""
  if not _is_numeric(spec.dtype):
    raise UnfitEnvironmentError(
      f'the {name} has dtype {spec.dtype}, and agents take bool, integers and '
      'floats; wrap the environment'
    )
  dtype = _dtype_here(spec.dtype)
  if dtype == np.int32 and not _fits(spec, dtype):
    dtype = np.dtype(np.float32)
  return _with_dtype(spec, dtype)


def _fits(spec: specs.Array, dtype: np.dtype) -> bool:
  limits = np.iinfo(dtype)
  return not isinstance(spec, specs.BoundedArray) or bool(
    np.all(spec.minimum >= limits.min) and np.all(spec.maximum <= limits.max)
  )


def _to_scalar(spec: specs.Array, name: str) -> specs.Array:
  """Returns a float32 spec, without dimensions if it has one element."""
  spec = _with_dtype(_to_observation(spec, name), np.dtype(np.float32))
  if spec.shape == () or math.prod(spec.shape) != 1:
    return spec
  if not isinstance(spec, specs.BoundedArray):
    return specs.Array((), spec.dtype, spec.name)
  bounds = [bound.reshape(()) for bound in (spec.minimum, spec.maximum)]
  return specs.BoundedArray((), spec.dtype, *bounds, spec.name)


def _dtype_here(dtype: np.dtype) -> np.dtype:
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
  # A bound that float32 does not hold is none.
  with np.errstate(over='ignore'):
    bounds = [bound.astype(dtype) for bound in (spec.minimum, spec.maximum)]
    return specs.BoundedArray(spec.shape, dtype, *bounds, spec.name)


def _adapt_action(spec: specs.Array) -> tuple[specs.Array, _ToAction]:
  """Returns an action's spec for agents, and what makes their action its own.

  What no agent here takes, such as several integers, keeps its shape.
  """
  if not isinstance(spec, specs.BoundedArray):
    return _to_observation(spec, 'action'), _caster(spec)
  low, high = np.broadcast_arrays(spec.minimum, spec.maximum)
  if spec.dtype.kind == 'f' and _is_bounded(low, high):
    return _scaled(spec, low, high)
  if spec.dtype.kind in 'iu' and math.prod(spec.shape) == 1:
    first, last = int(low.flat[0]), int(high.flat[0])
    if last - first < _MAX_CHOICES:
      choices = specs.DiscreteArray(last - first + 1, np.int32, spec.name)
      return choices, lambda action: np.full(
        spec.shape, first + int(action), spec.dtype
      )
  return _to_observation(spec, 'action'), _caster(spec)


def _is_bounded(low: np.ndarray, high: np.ndarray) -> bool:
  with np.errstate(over='ignore'):
    return bool(np.all(high.astype(float) - low < _NO_RANGE))


def _scaled(
  spec: specs.BoundedArray, low: np.ndarray, high: np.ndarray
) -> tuple[specs.Array, _ToAction]:
  """As `_adapt_action`, for an action that is scaled to [-1, 1]."""
  low, high = (
    np.broadcast_to(b, spec.shape).astype(float) for b in (low, high)
  )

  def to_action(action: Any) -> np.ndarray:
    share = (np.clip(np.asarray(action, float), -1, 1) + 1) / 2
    scaled = low + share.reshape(spec.shape) * (high - low)
    # Sums may end one ulp outside.
    return np.clip(scaled, low, high).astype(spec.dtype)

  shape = (math.prod(spec.shape),)
  return specs.BoundedArray(shape, np.float32, -1, 1, spec.name), to_action


def _caster(spec: specs.Array) -> _ToAction:
  return lambda action: np.asarray(action, spec.dtype)
