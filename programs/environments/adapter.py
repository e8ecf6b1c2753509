"""Adapts any environment to the form that agents take; checks each step."""

from collections.abc import Callable
from typing import Any

import compat  # noqa: F401

import dm_env
import numpy as np
import tree
from acme import wrappers
from dm_env import specs

from nodes.checks import finite
from programs.environments import errors, forms

_MAX_FLOAT32 = float(np.finfo(np.float32).max)


class AdaptedEnvironment(wrappers.EnvironmentWrapper):
  """An environment in the form that agents take.

  - Observations are contiguous copies. Floats of all sizes become float32;
    int8, uint8, int16 and int32 stay as they are; other integers become int32,
    or float32 if their bounds are wider than int32.
  - Rewards and discounts are float32, and scalars if they have one element.
  - Continuous actions with bounds become float32[n] in [-1, 1], whatever their
    shape and dtype. The agent's actions are clipped to that range. A bounded
    integer action becomes a choice that counts from 0, if its array has one
    element.

  Each step of the environment is checked against its specs: structure and shape
  must be the specified ones, and the change of dtype must not lose any value.
  Values outside the bounds pass, since only networks use the bounds.
  """

  def __init__(self, environment: dm_env.Environment):
    """Wraps an environment.

    Raises:
      UnfitEnvironmentError: no agent can take the values that a spec
        describes.
    """
    super().__init__(environment)
    self._observations = _Values('observation', environment.observation_spec())
    self._rewards = _Values('reward', environment.reward_spec(), forms.number)
    self._discounts = _Values(
      'discount', environment.discount_spec(), forms.number
    )
    actions = environment.action_spec()
    adapted = [forms.action(spec) for spec in tree.flatten(actions)]
    self._action_spec = tree.unflatten_as(actions, [a for a, _ in adapted])
    self._to_actions = [to_action for _, to_action in adapted]

  def reset(self) -> dm_env.TimeStep:
    return self._convert(self.environment.reset())

  def step(self, action: Any) -> dm_env.TimeStep:
    return self._convert(self.environment.step(self._to_action(action)))

  def _to_action(self, action: Any) -> Any:
    """Returns the environment's action for an action of the agent's."""
    if not tree.is_nested(self._action_spec):
      (to_action,) = self._to_actions
      return to_action(action)
    parts = tree.flatten_up_to(self._action_spec, action, check_types=False)
    leaves = [f(part) for f, part in zip(self._to_actions, parts, strict=True)]
    return tree.unflatten_as(self._action_spec, leaves)

  def _convert(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
    if not isinstance(timestep, dm_env.TimeStep):
      raise errors.UnfitEnvironmentError(
        f'a step gives a {type(timestep).__name__}, not a dm_env.TimeStep'
      )
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
  """Resets an environment and takes a step, to find values that do not fit.

  Args:
    environment: an `AdaptedEnvironment`.

  Raises:
    UnfitEnvironmentError: a value does not fit its spec.
  """
  environment.reset()
  actions = environment.action_spec()
  environment.step(tree.map_structure(lambda s: s.generate_value(), actions))


class _Values:
  """Converts the values of a nest of specs.

  Attributes:
    spec: the nest of specs of the converted values.
  """

  def __init__(
    self,
    name: str,
    spec: Any,
    adapt: Callable[[specs.Array, str], specs.Array] = forms.observation,
  ):
    """Adapts the specs.

    Args:
      name: what the values are, such as 'observation', for errors.
      spec: the environment's nest of specs.
      adapt: makes the spec of converted values from the environment's spec and
        a name.
    """
    self._name = name
    self.spec = tree.map_structure_with_path(
      lambda path, leaf: adapt(leaf, _join(name, path)),
      spec,
    )
    self._leaves = [
      (_join(name, path), leaf)
      for path, leaf in tree.flatten_with_path(self.spec)
    ]
    self._single = None if tree.is_nested(self.spec) else self.spec

  def convert(self, value: Any) -> Any:
    """Returns a nest of arrays that fit the specs in `spec`."""
    if self._single is not None:
      return _convert_leaf(value, self._single, self._name)
    try:
      parts = tree.flatten_up_to(self.spec, value, check_types=False)
    except (TypeError, ValueError) as e:
      text = ' '.join(str(e).split())
      raise errors.UnfitEnvironmentError(
        f'the {self._name} is not of the structure of its spec: {text}'
      ) from e
    arrays = [
      _convert_leaf(part, spec, name)
      for part, (name, spec) in zip(parts, self._leaves, strict=True)
    ]
    return tree.unflatten_as(self.spec, arrays)


class _TooGreatError(errors.UnfitEnvironmentError, finite.NonFiniteError):
  """A value is too great for float32, and would become infinite.

  Code that leaves out infinite values leaves out this one, too.
  """


def _join(name: str, path: tuple[Any, ...]) -> str:
  return '/'.join([name, *map(str, path)])


def _convert_leaf(value: Any, spec: specs.Array, name: str) -> np.ndarray:
  # Most values fit as they are.
  if (
    type(value) is np.ndarray
    and value.dtype == spec.dtype
    and value.shape == spec.shape
  ):
    return value.copy()
  if (
    isinstance(value, float)
    and not spec.shape
    and spec.dtype == np.float32
    and abs(value) <= _MAX_FLOAT32
  ):
    return np.array(value, np.float32)
  try:
    array = np.asarray(value)
  except ValueError as e:  # Lists of several lengths.
    raise errors.UnfitEnvironmentError(f'the {name} is no array: {e}') from e
  if array.shape != spec.shape and not (array.size == 1 and not spec.shape):
    raise errors.UnfitEnvironmentError(
      f'the {name} has shape {array.shape}, and its spec {spec.shape}'
    )
  if not forms.is_numeric(array.dtype):
    raise errors.UnfitEnvironmentError(
      f'the {name} is {array.tolist()!r:.80}, of dtype {array.dtype}, and its '
      f'spec says {spec.dtype}'
    )
  # The next lines find values that do not fit; NumPy need not warn of them.
  with np.errstate(all='ignore'):
    cast = array.astype(spec.dtype, order='C').reshape(spec.shape)
  if cast.dtype != array.dtype and not _is_same(array, cast):
    lost = array.reshape(spec.shape)[~_kept(array, cast)].flat[0]
    is_float = spec.dtype == np.float32
    error = _TooGreatError if is_float else errors.UnfitEnvironmentError
    raise error(
      f'the {name} has the value {lost}, which {spec.dtype} does not hold; '
      'scale it in the environment, or give its space another dtype'
    )
  return cast


def _is_same(array: np.ndarray, cast: np.ndarray) -> bool:
  # Only floats that are no longer finite count as lost, and these are rare.
  is_float = cast.dtype == np.float32
  return bool(is_float and np.isfinite(cast).all()) or _kept(array, cast).all()


def _kept(array: np.ndarray, cast: np.ndarray) -> np.ndarray:
  array = array.reshape(cast.shape)
  if cast.dtype == np.float32:
    return np.isfinite(cast) | ~np.isfinite(array.astype(np.longdouble))
  return np.asarray(cast == array)
