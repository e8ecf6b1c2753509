"""Networks for vectors and for images alike."""

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
# A range as wide as this, such as int32's, is no bound.
_NO_RANGE = 2.0**31


class Torso(hk.Module):
  """Makes features of observations: by convolutions if they are images."""

  def __init__(self, observations: Any, hidden_layer_sizes: tuple[int, ...]):
    """Makes the layers.

    Args:
      observations: the spec, or nest of specs, of the observations. A single
        one of three axes is an image; `spaces.channels_axis` says where its
        channels are, and its values are between the spec's bounds.
      hidden_layer_sizes: units in each layer. An image has only the last of
        these layers, after the convolutions.
    """
    super().__init__(name='torso')
    shape = getattr(observations, 'shape', ())
    self._is_image = len(shape) == _IMAGE_RANK
    self._spec = observations
    self._sizes = hidden_layer_sizes

  def __call__(self, observation: Any) -> jax.Array:
    """Returns float32[batch, features] of a nest of [batch, ...]."""
    if self._is_image:
      features = networks_lib.AtariTorso()(pixels(self._spec, observation))
      return jax.nn.relu(hk.Linear(self._sizes[-1])(features))
    features = utils.batch_concat(observation).astype(jnp.float32)
    return hk.nets.MLP(self._sizes, activate_final=True)(features)


def pixels(spec: specs.Array, images: jax.Array) -> jax.Array:
  """Returns float32[batch, height, width, channels], scaled to [0, 1].

  Args:
    spec: the spec of an image, with its channels first or last. Without bounds,
      an image of 8 bits is scaled by what its dtype holds, and any other stays
      as it is.
    images: a batch of such images, of [batch, ...].
  """
  low, high = _range(spec)
  pixels = (images.astype(jnp.float32) - low) / (high - low)
  if spaces.channels_axis(spec.shape) == 0:
    return jnp.moveaxis(pixels, 1, -1)
  return pixels


def _range(spec: specs.Array) -> tuple[np.ndarray, np.ndarray]:
  """Returns the least and the greatest values, or 0 and 1 without bounds."""
  low, high = 0.0, 1.0
  if isinstance(spec, specs.BoundedArray):
    low, high = spec.minimum, spec.maximum
  elif spec.dtype.kind in 'iu' and spec.dtype.itemsize == 1:
    low, high = np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max
  low, high = np.float32(low), np.float32(high)
  with np.errstate(over='ignore'):
    width = np.broadcast_to(high - low, spec.shape)
  # A value that never changes stays as it is, like one without bounds.
  has_range = (width > 0) & (width < _NO_RANGE)
  return np.where(has_range, low, 0), np.where(has_range, high, 1)


def feed_forward(
  spec: specs.EnvironmentSpec, forward: Any
) -> networks_lib.FeedForwardNetwork:
  """Returns a network made of a Haiku function.

  Args:
    spec: the spec of the environment whose observations the network takes.
    forward: a function of a nest of [batch, ...] observations.
  """
  network = hk.without_apply_rng(hk.transform(forward))
  observation = utils.add_batch_dim(utils.zeros_like(spec.observations))
  return networks_lib.FeedForwardNetwork(
    lambda key: network.init(key, observation), network.apply
  )


def action_values(
  spec: specs.EnvironmentSpec, hidden_layer_sizes: tuple[int, ...]
) -> networks_lib.FeedForwardNetwork:
  """Returns a network from observations to float32[batch, actions] values."""

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
      hidden_layer_sizes: units in each layer of the torso; the LSTM is as wide
        as the last of them.
      head: makes the head, a function of float32[batch, features].
    """
    super().__init__(name='recurrent')
    self._torso = Torso(observations, hidden_layer_sizes)
    self._core = hk.LSTM(hidden_layer_sizes[-1])
    self._head = head()

  def initial_state(self, batch_size: int | None = None) -> hk.LSTMState:
    """Returns the state at the beginning of an episode."""
    return self._core.initial_state(batch_size)

  def __call__(self, observation: Any, state: hk.LSTMState) -> tuple[Any, Any]:
    """Returns outputs and the next state, from a nest of [batch, ...]."""
    features, state = self._core(self._torso(observation), state)
    return self._head(features), state

  def unroll(self, observations: Any, state: hk.LSTMState) -> tuple[Any, Any]:
    """Returns outputs and the last state, from a nest of [time, batch, ...]."""
    # What comes from replay is another type of namedtuple.
    state = hk.LSTMState(*state)
    features = hk.BatchApply(self._torso)(observations)
    features, state = hk.dynamic_unroll(self._core, features, state)
    return hk.BatchApply(self._head)(features), state
