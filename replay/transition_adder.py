"""An adder of n-step transitions, each of which is one row in replay."""

import collections
from typing import Any, NamedTuple

import compat  # noqa: F401

import dm_env
import numpy as np
import reverb
from acme import adders, types

from replay import rows

# As in Acme's adders: a new writer asks the server for the tables' signatures,
# and the server may not be up yet.
_SIGNATURE_TIMEOUT_MS = 300_000
_MAX_IN_FLIGHT_ITEMS = 5


class _Step(NamedTuple):
  observation: Any
  action: Any
  reward: np.ndarray
  discount: np.ndarray
  extras: Any


class TransitionAdder(adders.Adder):
  """Inserts the transitions that `NStepTransitionAdder` of Acme inserts.

  At the beginning and at the end of an episode they span fewer steps, as there.
  """

  def __init__(
    self,
    client: reverb.Client,
    table: str,
    layout: rows.RowLayout,
    n_step: int,
    discount: float,
  ):
    """Inserts nothing yet.

    Args:
      client: of the replay server.
      table: the name of the table, whose items are rows.
      layout: of a row, which stands for an `acme.types.Transition`.
      n_step: the number of rewards that a transition sums, at least 1.
      discount: the agent's discount of each step.
    """
    self._client = client
    self._table = table
    self._layout = layout
    self._discount = np.float32(discount)
    self._steps: collections.deque[_Step] = collections.deque(maxlen=n_step)
    self._observation: Any = None
    self._writer: reverb.TrajectoryWriter | None = None

  def add_first(self, timestep: dm_env.TimeStep) -> None:
    """Begins an episode."""
    if not timestep.first():
      raise ValueError('add_first needs the first timestep of an episode')
    self._steps.clear()
    self._observation = timestep.observation

  def add(
    self,
    action: types.NestedArray,
    next_timestep: dm_env.TimeStep,
    extras: types.NestedArray = (),
  ) -> None:
    """Inserts the transition to this timestep; at the last one, all others."""
    self._steps.append(
      _Step(
        self._observation,
        action,
        next_timestep.reward,
        next_timestep.discount,
        extras,
      )
    )
    self._observation = next_timestep.observation
    self._insert()
    if next_timestep.last():
      while len(self._steps) > 1:
        self._steps.popleft()
        self._insert()
      self.reset()

  def reset(self) -> None:
    """Forgets the steps of an episode; what was inserted stays."""
    self._steps.clear()


  def _insert(self) -> None:
    first = self._steps[0]
    reward, discount = self._sums()
    row = self._layout.pack(
      types.Transition(
        first.observation,
        first.action,
        reward,
        discount,
        self._observation,
        first.extras,
      )
    )
    if self._writer is None:
      self._writer = self._client.trajectory_writer(
        1, get_signature_timeout_ms=_SIGNATURE_TIMEOUT_MS
      )
    self._writer.append(row)
    self._writer.create_item(self._table, 1.0, self._writer.history[-1])
    self._writer.flush(_MAX_IN_FLIGHT_ITEMS)

  def _sums(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns the discounted sum of the rewards, and the total discount.

    The formulas, and the order of operations, are those of Acme's adder:
    R = r_0 + g d_0 r_1 + ..., D = g^(n-1) d_0 ... d_(n-1).
    """
    first, *others = self._steps
    reward, discount = first.reward, first.discount
    for step in others:
      discount = discount * self._discount
      reward = reward + step.reward * discount
      discount = discount * step.discount
    return np.asarray(reward), np.asarray(discount)
