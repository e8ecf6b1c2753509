"""Networks that several agents use, for vectors and for images."""

from typing import Any

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from acme import specs
from acme.jax import networks as networks_lib
from acme.jax import utils

from programs.agents.shared import spaces

_IMAGE_RANK = 3
# Bounds as far apart as this, such as int32's, count as no bounds.
_NO_RANGE = 2.0**31


class Torso(hk.Module):
  """Makes features of observations. Images go through convolutions."""

  def __init__(self, observations: Any, hidden_layer_sizes: tuple[int, ...]):
    """Makes the layers.

    Args:
      observations: the spec, or nest of specs, of the observations. A single
        array with three axes is an image; `spaces.channels_axis` finds its
        channels, and its values are between the spec's bounds.
      hidden_layer_sizes: units in each layer. For an image, only the last of
        these layers is made, after the convolutions.
    """
    super().__init__(name='torso')
    shape = getattr(observations, 'shape', ())
    self._is_image = len(shape) == _IMAGE_RANK
    self._spec = observations
    self._sizes = hidden_layer_sizes

  def __call__(self, observation: Any) -> jax.Array:
    """Returns features, float32[batch, features].

    Args:
      observation: a nest of arrays of [batch, ...].
    """
    if self._is_image:
      features = networks_lib.AtariTorso()(pixels(self._spec, observation))
      return jax.nn.relu(hk.Linear(self._sizes[-1])(features))
    features = utils.batch_concat(observation).astype(jnp.float32)
    return hk.nets.MLP(self._sizes, activate_final=True)(features)


def pixels(spec: specs.Array, images: jax.Array) -> jax.Array:
  """Returns float32[batch, height, width, channels], scaled to [0, 1].

  Args:
    spec: the spec of one image, with its channels on the first or last axis. If
      it has no bounds, an 8-bit image is scaled by the range of its dtype, and
      any other image keeps its values.
    images: a batch of such images, [batch, ...].
  """
  low, high = _range(spec)
  pixels = (images.astype(jnp.float32) - low) / (high - low)
  if spaces.channels_axis(spec.shape) == 0:
    return jnp.moveaxis(pixels, 1, -1)
  return pixels


def _range(spec: specs.Array) -> tuple[np.ndarray, np.ndarray]:
  """Returns the least and greatest values; they are 0 and 1 without bounds."""
  low, high = 0.0, 1.0
  if isinstance(spec, specs.BoundedArray):
    low, high = spec.minimum, spec.maximum
  elif spec.dtype.kind in 'iu' and spec.dtype.itemsize == 1:
    low, high = np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max
  low, high = np.float32(low), np.float32(high)
  with np.errstate(over='ignore'):
    width = np.broadcast_to(high - low, spec.shape)
  # If both bounds are the same, the value stays as it is, as without bounds.
  has_range = (width > 0) & (width < _NO_RANGE)
  return np.where(has_range, low, 0), np.where(has_range, high, 1)


def feed_forward(
  spec: specs.EnvironmentSpec, forward: Any
) -> networks_lib.FeedForwardNetwork:
  """Returns a network made of a Haiku function.

  Args:
    spec: the spec of the environment whose observations the network takes.
    forward: a function of observations, which are a nest of [batch, ...].
  """
  network = hk.without_apply_rng(hk.transform(forward))
  observation = utils.add_batch_dim(utils.zeros_like(spec.observations))
  return networks_lib.FeedForwardNetwork(
    lambda key: network.init(key, observation), network.apply
  )


def action_values(
  spec: specs.EnvironmentSpec, hidden_layer_sizes: tuple[int, ...]
) -> networks_lib.FeedForwardNetwork:
  """Returns a network from observations to action values.

  Its output is float32[batch, actions].

  Args:
    spec: the spec of the environment.
    hidden_layer_sizes: units in each layer of the torso.
  """

  def values(observation):
    torso = Torso(spec.observations, hidden_layer_sizes)
    return hk.Linear(spec.actions.num_values)(torso(observation))

  return feed_forward(spec, values)


class Recurrent(hk.Module):
  """A torso, then an LSTM, then a head."""

  def __init__(
    self,
    observations: Any,
    hidden_layer_sizes: tuple[int, ...],
    head: Any,
  ):
    """Makes the layers.

    Args:
      observations: the spec, or nest of specs, of the observations.
      hidden_layer_sizes: units in each layer of the torso. The LSTM has as many
        units as the last of them.
      head: makes the head, which is a function of float32[batch, features].
    """
    super().__init__(name='recurrent')
    self._torso = Torso(observations, hidden_layer_sizes)
    self._core = hk.LSTM(hidden_layer_sizes[-1])
    self._head = head()

  def initial_state(self, batch_size: int | None = None) -> hk.LSTMState:
    """Returns the state at the beginning of an episode."""
    return self._core.initial_state(batch_size)

  def __call__(self, observation: Any, state: hk.LSTMState) -> tuple[Any, Any]:
    """Returns the head's outputs and the LSTM's next state.

    Args:
      observation: a nest of arrays of [batch, ...].
      state: the LSTM's state before the step.
    """
    features, state = self._core(self._torso(observation), state)
    return self._head(features), state

  def unroll(self, observations: Any, state: hk.LSTMState) -> tuple[Any, Any]:
    """Returns the head's outputs at all steps and the LSTM's last state.

    Args:
      observations: a nest of arrays of [time, batch, ...].
      state: the LSTM's state before the first step.
    """
    # A state from replay is a namedtuple of another type.
    state = hk.LSTMState(*state)
    features = hk.BatchApply(self._torso)(observations)
    features, state = hk.dynamic_unroll(self._core, features, state)
    return hk.BatchApply(self._head)(features), state
