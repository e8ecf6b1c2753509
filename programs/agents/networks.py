"""Networks that several agents share, for vectors and for images alike."""

from typing import Any

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from acme import specs
from acme.jax import networks as networks_lib
from acme.jax import utils

from programs.agents import spaces

_IMAGE_RANK = 3
# Wider than this, bounds are none, as int32's own are.
_NO_RANGE = 2.0**31


class Torso(hk.Module):
  """Features of observations: convolutions for images, layers for all else."""

  def __init__(self, observations: Any, hidden_layer_sizes: tuple[int, ...]):
    """Makes the layers.

    Args:
      observations: their spec; a single one of three axes is an image, of
        channels as `spaces.channels_axis` finds them and values between the
        spec's bounds.
      hidden_layer_sizes: of the layers, of which an image has the last alone.
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

  Those without bounds are scaled by what their dtype holds if it is of 8 bits,
  and are else left as they are.
  """
  low, high = _range(spec)
  pixels = (images.astype(jnp.float32) - low) / (high - low)
  if spaces.channels_axis(spec.shape) == 0:
    return jnp.moveaxis(pixels, 1, -1)
  return pixels


def _range(spec: specs.Array) -> tuple[np.ndarray, np.ndarray]:
  """Returns the least and the greatest values, or 0 and 1 if there are none."""
  low, high = 0.0, 1.0
  if isinstance(spec, specs.BoundedArray):
    low, high = spec.minimum, spec.maximum
  elif spec.dtype.kind in 'iu' and spec.dtype.itemsize == 1:
    low, high = np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max
  low, high = np.float32(low), np.float32(high)
  with np.errstate(over='ignore'):
    width = np.broadcast_to(high - low, spec.shape)
  # What never changes stays as it is, like what has no bounds.
  has_range = (width > 0) & (width < _NO_RANGE)
  return np.where(has_range, low, 0), np.where(has_range, high, 1)


def feed_forward(
  spec: specs.EnvironmentSpec, forward: Any
) -> networks_lib.FeedForwardNetwork:
  """Makes a network of a Haiku function of a batch of observations."""
  network = hk.without_apply_rng(hk.transform(forward))
  observation = utils.add_batch_dim(utils.zeros_like(spec.observations))
  return networks_lib.FeedForwardNetwork(
    lambda key: network.init(key, observation), network.apply
  )


class Recurrent(hk.Module):
  """A torso, an LSTM, and what `head` makes of its output."""

  def __init__(
    self,
    observations: Any,
    hidden_layer_sizes: tuple[int, ...],
    head: Any,
  ):
    """Makes the layers.

    Args:
      observations: their spec.
      hidden_layer_sizes: of the torso; the last is the LSTM's as well.
      head: makes a function of float32[batch, features].
    """
    super().__init__(name='recurrent')
    self._torso = Torso(observations, hidden_layer_sizes)
    self._core = hk.LSTM(hidden_layer_sizes[-1])
    self._head = head()

  def initial_state(self, batch_size: int | None = None) -> hk.LSTMState:
    """Returns the state at the beginning of an episode."""
    return self._core.initial_state(batch_size)

  def __call__(self, observation: Any, state: hk.LSTMState) -> tuple[Any, Any]:
    """Returns outputs and state after one step, of a nest of [batch, ...]."""
    features, state = self._core(self._torso(observation), state)
    return self._head(features), state

  def unroll(self, observations: Any, state: hk.LSTMState) -> tuple[Any, Any]:
    """Returns outputs and state after a nest of [time, batch, ...]."""
    # Replay gives back a namedtuple of its own.
    state = hk.LSTMState(*state)
    features = hk.BatchApply(self._torso)(observations)
    features, state = hk.dynamic_unroll(self._core, features, state)
    return hk.BatchApply(self._head)(features), state
