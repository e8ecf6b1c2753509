"""An adder of sequences, each of which is one tensor in replay."""

import compat  # noqa: F401

import dm_env
import numpy as np
import reverb
import tree
from acme import adders, types
from acme.adders.reverb import base

from replay import sequence_layout, writers

_MAX_IN_FLIGHT_ITEMS = 2


class SequenceAdder(adders.Adder):
  """Inserts sequences that go on from one episode to the next.

  The sequences are those of Acme's `SequenceAdder` with `CONTINUE` as its
  behaviour at the end of an episode. After an episode's last step comes a step
  with the last observation; its action, reward, discount and extras are zero.
  """

  def __init__(
    self,
    client: reverb.Client,
    table: str,
    layout: sequence_layout.SequenceLayout,
    period: int,
  ):
    """Inserts nothing yet.

    Args:
      client: a client of the replay server.
      table: the name of the table, which has the layout's signature.
      layout: how a sequence lies in an item.
      period: the number of steps between the starts of two sequences, at most
        the sequence's length.
    """
    self._client = client
    self._table = table
    self._layout = layout.step
    self._period = period
    self._steps = np.zeros((layout.length, layout.step.size), np.uint8)
    self._position = 0
    self._before: dm_env.TimeStep | None = None
    self._writer: reverb.TrajectoryWriter | None = None

  def add_first(self, timestep: dm_env.TimeStep) -> None:
    """Begins an episode."""
    if not timestep.first():
      raise ValueError('add_first needs the first timestep of an episode')
    self._before = timestep

  def add(
    self,
    action: types.NestedArray,
    next_timestep: dm_env.TimeStep,
    extras: types.NestedArray = (),
  ) -> None:
    """Adds a step; inserts the sequence that it completes, if any."""
    if self._before is None:
      raise ValueError('add_first must be called before add')
    rest = action, next_timestep.reward, next_timestep.discount, extras
    self._add(*rest)
    self._before = next_timestep
    if next_timestep.last():
      self._add(*tree.map_structure(np.zeros_like, rest))
      self._before = None

  def reset(self) -> None:
    """Drops the steps that are in no sequence yet."""
    self._position = 0
    self._before = None

  def _add(self, action, reward, discount, extras) -> None:
    self._steps[self._position] = self._layout.pack(
      base.Trajectory(
        observation=self._before.observation,
        action=action,
        reward=reward,
        discount=discount,
        start_of_episode=self._before.first(),
        extras=extras,
      )
    )
    self._position += 1
    if self._position == len(self._steps):
      self._insert()
      # The next sequence begins with the steps that the two share. NumPy copies
      # slices that overlap as if they did not.
      self._position -= self._period
      self._steps[: self._position] = self._steps[self._period :]

  def _insert(self) -> None:
    if self._writer is None:
      self._writer = writers.make(self._client)
    self._writer.append(self._steps)
    self._writer.create_item(self._table, 1.0, self._writer.history[-1])
    self._writer.flush(_MAX_IN_FLIGHT_ITEMS)
