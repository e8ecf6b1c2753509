"""Cuts steps into sequences that overlap, and inserts them into replay."""

import compat  # noqa: F401

import numpy as np
import reverb
from acme import types

from replay import sequence_layout, writers

_MAX_IN_FLIGHT_ITEMS = 2


class SequenceWriter:
  """Inserts sequences that go on from one episode to the next.

  The sequences are those of Acme's `SequenceAdder` with `CONTINUE` as its
  behaviour at the end of an episode. After an episode's last step comes a step
  with the last observation; its action, reward, discount and extras are zero.

  Attributes:
    layout: how a step is packed.
    num_lanes: the number of environments.
  """

  def __init__(
    self,
    client: reverb.Client,
    table: str,
    layout: sequence_layout.SequenceLayout,
    period: int,
    num_lanes: int = 1,
  ):
    """Inserts nothing yet.

    Args:
      client: a client of the replay server.
      table: the name of the table, which has the layout's signature.
      layout: how a sequence lies in an item.
      period: the number of steps between the starts of two sequences, at most
        the sequence's length.
      num_lanes: the number of environments, each with sequences of its own.
    """
    self._client = client
    self._table = table
    self.layout = layout.step
    self.num_lanes = num_lanes
    self._period = period
    self._steps = np.zeros(
      (num_lanes, layout.length, layout.step.size), np.uint8
    )
    self._positions = [0] * num_lanes
    self._zeros = layout.step.unpack(np.zeros(layout.step.size, np.uint8))
    self._writer: reverb.TrajectoryWriter | None = None

  def append(self, lane: int, row: np.ndarray) -> None:
    """Appends a step; inserts the sequence that it completes, if any.

    Args:
      lane: the index of the step's environment.
      row: uint8[size], the packed step.
    """
    steps = self._steps[lane]
    position = self._positions[lane]
    steps[position] = row
    position += 1
    if position == len(steps):
      self._insert(steps)
      # The next sequence begins with the steps that the two share. NumPy copies
      # slices that overlap as if they did not.
      position -= self._period
      steps[:position] = steps[self._period :]
    self._positions[lane] = position

  def end_episode(self, lane: int, observation: types.NestedArray) -> None:
    """Appends the step that follows an episode's last one.

    Args:
      lane: the index of the episode's environment.
      observation: the episode's last observation.
    """
    last = self._zeros._replace(observation=observation)
    self.append(lane, self.layout.pack(last))

  def reset(self, lane: int) -> None:
    """Drops a lane's steps that are in no sequence yet."""
    self._positions[lane] = 0

  def _insert(self, steps: np.ndarray) -> None:
    if self._writer is None:
      self._writer = writers.make(self._client)
    self._writer.append(steps)
    self._writer.create_item(self._table, 1.0, self._writer.history[-1])
    self._writer.flush(_MAX_IN_FLIGHT_ITEMS)
