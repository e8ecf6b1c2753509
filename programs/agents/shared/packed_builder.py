"""Has an agent of Acme's keep its items in replay as few tensors each.

Acme's own adders and datasets move each array of an item by itself. What the
agent learns from is the same; `replay.rows` says why this way is cheaper.
"""

from collections.abc import Iterator
from typing import Any

import compat  # noqa: F401

import reverb

from programs import builders
from replay import batches, sequence_layout, transition_layout


class PackedBuilder(builders.ReleasedFormBuilder):
  """Wraps a builder with one table, whose items have a layout.

  Attributes:
    layout: how an item lies in replay.
  """

  def __init__(
    self,
    builder: Any,
    table_name: str,
    layout: transition_layout.TransitionLayout | sequence_layout.SequenceLayout,
    batch_size: int,
  ):
    """Wraps a builder.

    Args:
      builder: a builder of dm-acme's released form.
      table_name: the name of its table.
      layout: how an item lies in replay.
      batch_size: the number of items that the learner gets at once.
    """
    super().__init__(builder)
    self._table_name = table_name
    self.layout = layout
    self._batch_size = batch_size

  def make_dataset_iterator(
    self, replay_client: reverb.Client
  ) -> Iterator[reverb.ReplaySample]:
    return batches.batches(
      replay_client.server_address,
      self._table_name,
      self.layout,
      self._batch_size,
    )
