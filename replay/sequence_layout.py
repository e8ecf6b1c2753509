"""How a sequence of steps lies in replay: one row after the other."""

import compat  # noqa: F401

import numpy as np
import tensorflow as tf
from acme.adders.reverb import base

from replay import rows


class SequenceLayout:
  """Says where the arrays of a sequence lie in an item of replay.

  Attributes:
    length: the number of steps in a sequence.
    step: the layout of a step.
    signature: the signature of the table; an item is uint8[length, step.size].
  """

  def __init__(self, spec: base.Trajectory, length: int):
    """Lays out the sequences.

    Args:
      spec: a step as a nest of objects with `shape` and `dtype`, such as the
        signature of Acme's adder.
      length: the number of steps in a sequence.

    Raises:
      rows.UnpackableError: the size of a dtype is not fixed.
    """
    self.length = length
    self.step = rows.RowLayout(spec)
    self.signature = tf.TensorSpec((length, self.step.size), tf.uint8)

  def unpack(self, items: np.ndarray) -> base.Trajectory:
    """Returns a batch of items as sequences, without a copy.

    Args:
      items: uint8[batch, length, step.size].

    Returns:
      A trajectory of arrays of [batch, length, ...].
    """
    return self.step.unpack(items)
