"""Tests that sequences come out of replay as with Acme's own adder."""

from compat import acme_internals

import numpy as np
import pytest
import reverb
from acme import specs
from acme.adders import reverb as acme_adders
from acme.adders.reverb import base

from replay import (
  batches,
  sequence_adder,
  sequence_layout,
  sequence_writer,
)
from tests.replay import servers

_SPEC = specs.EnvironmentSpec(
  observations={
    'camera': specs.Array((5, 7, 3), np.uint8),
    'joints': specs.Array((3,), np.float32),
  },
  actions=specs.DiscreteArray(3),
  rewards=specs.Array((), np.float32),
  discounts=specs.BoundedArray((), np.float32, 0, 1),
)
_EXTRAS = {
  'core_state': (specs.Array((4,), np.float32), specs.Array((2,), np.float32)),
  'log_prob': specs.Array((), np.float32),
}
_LENGTH = 5


class _Sides:
  """Acme's adder and this program's, each with a table of one server."""

  def __init__(self, period):
    self._layout = sequence_layout.SequenceLayout(
      base.Trajectory(*base.ReverbAdder.signature(_SPEC, _EXTRAS)), _LENGTH
    )
    acme_signature = acme_adders.SequenceAdder.signature(
      _SPEC, _EXTRAS, _LENGTH
    )
    self.server = reverb.Server(
      [
        reverb.Table.queue('acme', 1000, signature=acme_signature),
        reverb.Table.queue('ours', 1000, signature=self._layout.signature),
      ]
    )
    self._address = f'localhost:{self.server.port}'
    self.client = reverb.Client(self._address)
    self.adders = [
      acme_adders.SequenceAdder(
        self.client,
        _LENGTH,
        period,
        priority_fns={'acme': None},
        end_of_episode_behavior=acme_adders.EndBehavior.CONTINUE,
      ),
      sequence_adder.SequenceAdder(
        sequence_writer.SequenceWriter(
          self.client, 'ours', self._layout, period
        )
      ),
    ]

  def add_episodes(self, lengths, **kwargs):
    for adder in self.adders:
      for index, length in enumerate(lengths):
        servers.add_episode(
          adder, _SPEC, length, index % 2, index, _EXTRAS, **kwargs
        )

  def items(self, number):
    """Returns each side's first sequences as a batch, in their order.

    Args:
      number: the number of sequences.
    """
    # The last sequences come with more steps only. Also, a sampler that waits
    # for items takes seconds to end.
    self.add_episodes([4 * _LENGTH * number])
    acme = reverb.TrajectoryDataset.from_table_signature(
      self._address, 'acme', number
    )
    ours = batches.batches(self._address, 'ours', self._layout, number)
    return (
      next(acme.batch(number).as_numpy_iterator()).data,
      next(ours).data,
    )

  def close(self):
    self.adders = None
    self.server.stop()


@pytest.fixture
def make_sides():
  made = []

  def make(period):
    made.append(_Sides(period))
    return made[-1]

  yield make
  for sides in made:
    sides.close()


@pytest.mark.parametrize(
  ('period', 'number'), [(_LENGTH - 1, 10), (2, 19), (_LENGTH, 8)]
)
def test_sequences_are_those_of_acme(make_sides, period, number):
  sides = make_sides(period)
  # Some episodes are shorter than a sequence.
  sides.add_episodes([7, 1, 2, 12, 5, 4, 3])
  servers.assert_same(*sides.items(number))


def test_a_forgotten_episode_is_in_no_sequence(make_sides):
  sides = make_sides(_LENGTH - 1)
  sides.add_episodes([6])
  sides.add_episodes([3], is_complete=False)
  for adder in sides.adders:
    acme_internals.forget_episode(adder)
  sides.add_episodes([9, 2, 8])
  servers.assert_same(*sides.items(7))


def test_a_step_needs_the_beginning_of_its_episode(make_sides):
  adder = make_sides(2).adders[1]
  with pytest.raises(ValueError, match='add_first'):
    adder.add(np.int32(0), servers.dm_env.transition(0.0, np.zeros(3)))
