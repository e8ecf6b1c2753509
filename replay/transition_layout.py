"""How a transition lies in replay: in one row, or with shared observations."""

from typing import Any

import compat  # noqa: F401

import numpy as np
import tensorflow as tf
from acme import types

from replay import rows

# In one row, an item has one tensor, but replay holds each observation twice:
# where a transition begins, and where another ends. From about this size on,
# the second copy costs more than a second tensor.
_SHARED_FROM_BYTES = 4096

# The columns of an item with shared observations.
FIRST, LAST, REST = 'first_observation', 'last_observation', 'rest'


class TransitionLayout:
  """Says where the arrays of a transition lie in an item of replay.

  An item is one row. Or it is a dict of three: the two observations, which
  other transitions share, and the rest.

  Attributes:
    observation: the layout of an observation.
    act: the layout of the pair (action, extras).
    outcome: the layout of the pair (reward, discount).
    shares_observations: whether an item is a dict.
  """

  def __init__(self, spec: types.Transition):
    """Lays out the transitions.

    Args:
      spec: a nest of objects with `shape` and `dtype`, such as the signature of
        Acme's adder.

    Raises:
      rows.UnpackableError: the size of a dtype is not fixed.
    """
    self.observation = rows.RowLayout(spec.observation, 'observation')
    self.act = rows.RowLayout({'action': spec.action, 'extras': spec.extras})
    self.outcome = rows.RowLayout(
      {'reward': spec.reward, 'discount': spec.discount}
    )
    self.shares_observations = self.observation.size >= _SHARED_FROM_BYTES

  @property
  def signature(self) -> Any:
    """The signature of the table."""
    observation = self.observation.size
    rest = self.act.size + self.outcome.size
    if not self.shares_observations:
      return _row(2 * observation + rest)
    return {FIRST: _row(observation), LAST: _row(observation), REST: _row(rest)}

  def unpack(self, items: Any) -> types.Transition:
    """Returns a batch of items as transitions, without a copy.

    Args:
      items: has the structure of the signature; each array has one more axis,
        the batch's, which comes first.
    """
    size = self.observation.size
    if self.shares_observations:
      first, last, rest = items[FIRST], items[LAST], items[REST]
    else:
      first, last, rest = np.split(items, [size, 2 * size], axis=1)
    act, outcome = np.split(rest, [self.act.size], axis=1)
    return types.Transition(
      observation=self.observation.unpack(first),
      next_observation=self.observation.unpack(last),
      **self.act.unpack(act),
      **self.outcome.unpack(outcome),
    )


def _row(size: int) -> tf.TensorSpec:
  return tf.TensorSpec((size,), tf.uint8)
