"""Has an agent of Acme's keep its sequences in replay as one tensor each."""

from typing import Any

import compat  # noqa: F401

import reverb
from acme.adders.reverb import base

from programs.agents.shared import description, packed_builder
from replay import (
  batch_adders,
  sequence_adder,
  sequence_layout,
  sequence_writer,
)


class PackedSequences(packed_builder.PackedBuilder):
  """Wraps a builder whose one table is a queue of sequences.

  The queue has room for little more than a batch, so actors do not run ahead of
  the learner.
  """

  def __init__(
    self,
    builder: Any,
    environment_spec: description.EnvironmentSpec,
    acme_config: Any,
    extras_spec: Any,
    length: int,
  ):
    """Wraps a builder.

    Args:
      builder: a builder of dm-acme's released form, whose actors' sequences may
        go on from one episode to the next.
      environment_spec: the spec of all actors' environments.
      acme_config: the builder's configuration, which has `batch_size` and
        `replay_table_name`.
      extras_spec: a nest of specs or arrays of what the policy adds to a step.
      length: the number of steps in a sequence. The last one is also the first
        of the next sequence, since it gives only the value to bootstrap from.
    """
    signature = base.ReverbAdder.signature(environment_spec, extras_spec)
    layout = sequence_layout.SequenceLayout(base.Trajectory(*signature), length)
    super().__init__(
      builder, acme_config.replay_table_name, layout, acme_config.batch_size
    )
    self._period = length - 1

  def make_replay_tables(self, environment_spec, policy):
    return [
      reverb.Table.queue(
        self._table_name,
        # An actor may write two sequences at the end of an episode.
        max_size=self._batch_size + 2,
        signature=self.layout.signature,
      )
    ]

  def make_adder(self, replay_client, environment_spec, policy):
    return sequence_adder.SequenceAdder(self._make_writer(replay_client, 1))

  def make_batch_adder(
    self, replay_client: reverb.Client, num_environments: int
  ) -> batch_adders.BatchAdder:
    """Returns an adder for an actor that has several environments."""
    return batch_adders.BatchSequenceAdder(
      self._make_writer(replay_client, num_environments)
    )

  def _make_writer(
    self, replay_client: reverb.Client, num_environments: int
  ) -> sequence_writer.SequenceWriter:
    return sequence_writer.SequenceWriter(
      replay_client,
      self._table_name,
      self.layout,
      self._period,
      num_environments,
    )
