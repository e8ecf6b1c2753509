"""What records the steps of an actor that has several environments."""

from collections.abc import Sequence
from typing import Any, Protocol

from compat import acme_internals

import dm_env
import jax
import numpy as np
import tree
from acme import adders, types
from acme.adders.reverb import base

from replay import sequence_writer


class BatchAdder(Protocol):
  """Records steps of several environments, which are its lanes, at once."""

  def add_first(self, lane: int, timestep: dm_env.TimeStep) -> None:
    """Begins an episode in a lane."""

  def add(
    self,
    lanes: Sequence[int],
    observations: types.NestedArray,
    actions: types.NestedArray,
    timesteps: Sequence[dm_env.TimeStep],
    extras: types.NestedArray,
  ) -> None:
    """Adds a step to each of some lanes.

    Args:
      lanes: the indices of the lanes, in rising order.
      observations: a nest of arrays of [lanes, ...]: for all lanes, the
        observations before the step.
      actions: a nest of arrays of [lanes, ...]: the actions of all lanes.
      timesteps: for all lanes, the timesteps that the actions led to.
      extras: a nest of arrays of [lanes, ...]: what the policy adds to the
        steps of all lanes.
    """

  def forget(self, lane: int) -> None:
    """Forgets the episode of a lane, which has not ended."""


class LaneAdders:
  """A `BatchAdder` that has an adder of its own for each lane."""

  def __init__(self, lane_adders: Sequence[adders.Adder | None]):
    """Wraps adders.

    Args:
      lane_adders: an adder for each lane; None records nothing.
    """
    self._adders = tuple(lane_adders)

  def add_first(self, lane: int, timestep: dm_env.TimeStep) -> None:
    if self._adders[lane]:
      self._adders[lane].add_first(timestep)

  def add(self, lanes, observations, actions, timesteps, extras) -> None:
    leaves, structure = jax.tree_util.tree_flatten((actions, extras))
    for lane in lanes:
      if self._adders[lane]:
        rows = [leaf[lane, ...] for leaf in leaves]
        action, extra = structure.unflatten(rows)
        self._adders[lane].add(action, timesteps[lane], extras=extra)

  def forget(self, lane: int) -> None:
    acme_internals.forget_episode(self._adders[lane])


class BatchSequenceAdder:
  """A `BatchAdder` of sequences that packs the steps of all lanes at once.

  Each lane's sequences are those of a `SequenceAdder`.
  """

  def __init__(self, writer: sequence_writer.SequenceWriter):
    """Inserts nothing yet.

    Args:
      writer: inserts the sequences; nothing else uses it.
    """
    self._writer = writer
    self._is_first = np.zeros(writer.num_lanes, bool)

  def add_first(self, lane: int, timestep: dm_env.TimeStep) -> None:
    self._is_first[lane] = True

  def add(self, lanes, observations, actions, timesteps, extras) -> None:
    def of_lanes(nest: Any) -> Any:
      if len(lanes) == len(timesteps):
        return nest
      return tree.map_structure(lambda leaf: leaf[list(lanes)], nest)

    stepped = [timesteps[lane] for lane in lanes]
    steps = base.Trajectory(
      observation=of_lanes(observations),
      action=of_lanes(actions),
      reward=stack([timestep.reward for timestep in stepped]),
      discount=stack([timestep.discount for timestep in stepped]),
      start_of_episode=of_lanes(self._is_first),
      extras=of_lanes(extras),
    )
    rows = self._writer.layout.pack(steps, len(lanes))
    for lane, row, timestep in zip(lanes, rows, stepped, strict=True):
      self._is_first[lane] = False
      self._writer.append(lane, row)
      if timestep.last():
        self._writer.end_episode(lane, timestep.observation)

  def forget(self, lane: int) -> None:
    self._writer.reset(lane)


def stack(nests: Sequence[Any]) -> Any:
  """Returns nests as one nest, whose arrays have a first axis for them."""
  if tree.is_nested(nests[0]):
    return tree.map_structure(lambda *leaves: np.stack(leaves), *nests)
  return np.stack(nests)
