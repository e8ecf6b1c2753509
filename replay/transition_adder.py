"""An adder of n-step transitions, which replay holds as rows of bytes."""

import collections
from typing import Any, NamedTuple

import compat  # noqa: F401

import dm_env
import numpy as np
import reverb
from acme import adders, types

from replay import transition_layout, writers

_MAX_IN_FLIGHT_ITEMS = 5


class _Step(NamedTuple):
  """A step, packed at once, since environments may reuse their arrays.

  Attributes:
    observation: the observation before the step: uint8[size], or a reference
      to it if transitions share it.
    act: uint8[size], the action and the extras.
    reward: the reward of the step, a scalar.
    discount: the environment's discount of the step, a scalar.
  """

  observation: Any
  act: np.ndarray
  reward: np.ndarray
  discount: np.ndarray


class TransitionAdder(adders.Adder):
  """Inserts the transitions that `NStepTransitionAdder` of Acme inserts.

  As there, transitions at the beginning and at the end of an episode span fewer
  steps. Rewards and discounts are scalars.
  """

  def __init__(
    self,
    client: reverb.Client,
    table: str,
    layout: transition_layout.TransitionLayout,
    n_step: int,
    discount: float,
  ):
    """Inserts nothing yet.

    Args:
      client: a client of the replay server.
      table: the name of the table, which has the layout's signature.
      layout: how a transition lies in an item.
      n_step: the number of rewards that a transition sums, at least 1.
      discount: the agent's discount of each step.
    """
    self._client = client
    self._table = table
    self._layout = layout
    self._discount = np.float32(discount)
    self._writer: reverb.TrajectoryWriter | None = None
    # The steps of the newest transition, and the observation at its end, which
    # is None between episodes.
    self._steps: collections.deque[_Step] = collections.deque(maxlen=n_step)
    self._observation: Any = None

  def add_first(self, timestep: dm_env.TimeStep) -> None:
    """Begins an episode; forgets one that has not ended."""
    if not timestep.first():
      raise ValueError('add_first needs the first timestep of an episode')
    self.reset()
    if self._writer is None:
      self._writer = self._make_writer()
    self._observe(timestep.observation)

  def add(
    self,
    action: types.NestedArray,
    next_timestep: dm_env.TimeStep,
    extras: types.NestedArray = (),
  ) -> None:
    """Inserts the transition that ends with this timestep.

    At the last timestep it also inserts the shorter ones that end there.
    """
    if self._observation is None:
      raise ValueError('add_first must be called before add')
    act = {'action': action, 'extras': () if extras is None else extras}
    self._steps.append(
      _Step(
        self._observation,
        self._layout.act.pack(act),
        np.array(next_timestep.reward),
        np.array(next_timestep.discount),
      )
    )
    self._observe(next_timestep.observation)
    self._insert()
    if next_timestep.last():
      while len(self._steps) > 1:
        self._steps.popleft()
        self._insert()
      self.reset()

  def reset(self) -> None:
    """Forgets the episode's steps, once replay has all that were inserted."""
    if self._observation is None:
      return
    self._writer.end_episode()
    self._steps.clear()
    self._observation = None

  def _make_writer(self) -> reverb.TrajectoryWriter:
    writer = writers.make(self._client)
    if self._layout.shares_observations:
      writer.configure(
        (transition_layout.FIRST,),
        # A transition refers to the observation from n steps ago.
        num_keep_alive_refs=self._steps.maxlen + 1,
        # A sample comes with whole chunks, so each has one observation only.
        max_chunk_length=1,
      )
    return writer

  def _observe(self, observation: types.NestedArray) -> None:
    row = self._layout.observation.pack(observation)
    if self._layout.shares_observations:
      self._observation = self._append(transition_layout.FIRST, row)
    else:
      self._observation = row

  def _insert(self) -> None:
    first, last = self._steps[0].observation, self._observation
    rest = [self._steps[0].act, self._layout.outcome.pack(self._sums())]
    if self._layout.shares_observations:
      item = {
        transition_layout.FIRST: first,
        transition_layout.LAST: last,
        transition_layout.REST: self._append(
          transition_layout.REST, np.concatenate(rest)
        ),
      }
    else:
      item = self._append('row', np.concatenate([first, last, *rest]))
    self._writer.create_item(self._table, 1.0, item)
    self._writer.flush(_MAX_IN_FLIGHT_ITEMS)

  def _append(self, column: str, row: np.ndarray) -> Any:
    """Appends a row to the writer; returns a reference to it for items."""
    self._writer.append({column: row})
    return self._writer.history[column][-1]

  def _sums(self) -> dict[str, Any]:
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
    return {'reward': reward, 'discount': discount}
