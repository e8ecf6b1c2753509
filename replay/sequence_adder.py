"""An adder of sequences, each of which is one tensor in replay."""

import compat  # noqa: F401

import dm_env
from acme import adders, types
from acme.adders.reverb import base

from replay import sequence_writer


class SequenceAdder(adders.Adder):
  """Inserts the sequences of one environment; see `SequenceWriter`."""

  def __init__(self, writer: sequence_writer.SequenceWriter):
    """Inserts nothing yet.

    Args:
      writer: inserts the sequences; nothing else uses its first lane.
    """
    self._writer = writer
    self._before: dm_env.TimeStep | None = None

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
    step = base.Trajectory(
      observation=self._before.observation,
      action=action,
      reward=next_timestep.reward,
      discount=next_timestep.discount,
      start_of_episode=self._before.first(),
      extras=extras,
    )
    self._writer.append(0, self._writer.layout.pack(step))
    self._before = next_timestep
    if next_timestep.last():
      self._writer.end_episode(0, next_timestep.observation)
      self._before = None

  def reset(self) -> None:
    """Drops the steps that are in no sequence yet."""
    self._writer.reset(0)
    self._before = None
