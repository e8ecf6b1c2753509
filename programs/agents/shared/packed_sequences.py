"""Has an agent of Acme's keep its sequences in replay as one tensor each."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import compat  # noqa: F401

import numpy as np
import reverb
import tensorflow as tf
from acme import adders, specs
from acme.adders.reverb import base

from programs import builders
from programs.agents.shared import description
from replay import batches, rows, sequence_adder


@dataclasses.dataclass(frozen=True)
class Sequences:
  """The sequences of an agent.

  Attributes:
    environment_spec: the spec of all actors' environments.
    extras_spec: a nest of specs or arrays of what the policy adds to a step.
    length: the number of steps in a sequence.
    period: the number of steps between the starts of two sequences.
  """

  environment_spec: description.EnvironmentSpec
  extras_spec: Any
  length: int
  period: int

  def make_layout(self) -> rows.RowLayout:
    """Returns the layout of a step."""
    signature = base.ReverbAdder.signature(
      self.environment_spec, self.extras_spec
    )
    return rows.RowLayout(base.Trajectory(*signature))


class PackedSequences(builders.ReleasedFormBuilder):
  """Wraps a builder whose one table is a queue of sequences."""

  def __init__(
    self,
    builder: Any,
    sequences: Sequences,
    table_name: str,
    batch_size: int,
    make_table: Callable[[str, Any], reverb.Table],
  ):
    """Wraps a builder.

    Args:
      builder: a builder of dm-acme's released form, whose actors' sequences may
        go on from one episode to the next.
      sequences: describes the sequences.
      table_name: the name of the queue.
      batch_size: the number of sequences in a batch.
      make_table: makes the queue from its name and its signature.
    """
    super().__init__(builder)
    self._sequences = sequences
    self._table_name = table_name
    self._batch_size = batch_size
    self._make_table = make_table
    self._layout = sequences.make_layout()

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec, policy: Any
  ) -> Sequence[reverb.Table]:
    shape = self._sequences.length, self._layout.size
    return [self._make_table(self._table_name, tf.TensorSpec(shape, tf.uint8))]

  def make_dataset_iterator(
    self, replay_client: reverb.Client
  ) -> Iterator[reverb.ReplaySample]:
    return batches.batches(
      replay_client.server_address,
      self._table_name,
      self.unpack,
      self._batch_size,
    )

  def unpack(self, items: np.ndarray) -> base.Trajectory:
    """Returns a batch of items as the learner expects it.

    Args:
      items: uint8[batch, length, size].

    Returns:
      A trajectory of arrays of [batch, length, ...], which are views.
    """
    return self._layout.unpack(items)

  def make_adder(
    self,
    replay_client: reverb.Client,
    environment_spec: specs.EnvironmentSpec | None,
    policy: Any,
  ) -> adders.Adder:
    return sequence_adder.SequenceAdder(
      replay_client,
      self._table_name,
      self._sequences.make_layout(),
      self._sequences.length,
      self._sequences.period,
    )
