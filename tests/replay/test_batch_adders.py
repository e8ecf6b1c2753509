"""Tests that the lanes of a batch are recorded as single environments are."""

import compat  # noqa: F401

import dm_env
import numpy as np
import pytest
import reverb
import tree
from acme import specs
from acme.adders.reverb import base

from replay import (
  batch_adders,
  batches,
  sequence_adder,
  sequence_layout,
  sequence_writer,
)
from tests.replay import servers

_SPEC = specs.EnvironmentSpec(
  observations={
    'lane': specs.Array((), np.int32),
    'values': specs.Array((2,), np.float32),
  },
  actions=specs.DiscreteArray(3),
  rewards=specs.Array((), np.float32),
  discounts=specs.BoundedArray((), np.float32, 0, 1),
)
_EXTRAS = {'log_prob': specs.Array((), np.float32)}
_LENGTH, _PERIOD, _LANES = 5, 4, 3
_LAYOUT = sequence_layout.SequenceLayout(
  base.Trajectory(*base.ReverbAdder.signature(_SPEC, _EXTRAS)), _LENGTH
)


class _Episodes:
  """Random timesteps of a lane; its episodes have lengths of their own."""

  def __init__(self, lane):
    self._lane, self._rng = lane, np.random.default_rng(lane)
    self._length = 0

  def restart(self):
    self._left = self._length = self._length % 7 + self._lane + 1
    return dm_env.restart(self._observation())

  def step(self):
    self._left -= 1
    return dm_env.TimeStep(
      dm_env.StepType.MID if self._left else dm_env.StepType.LAST,
      np.float32(self._rng.normal()),
      np.float32(self._rng.random()),
      self._observation(),
    )

  def _observation(self):
    values = self._rng.normal(size=2).astype(np.float32)
    return {'lane': np.array(self._lane, np.int32), 'values': values}


@pytest.fixture
def server():
  made = reverb.Server(
    [
      reverb.Table.queue(name, 1000, signature=_LAYOUT.signature)
      for name in ('batch', *map(str, range(_LANES)))
    ]
  )
  yield made
  made.stop()


def _sequences(server, table):
  address = f'localhost:{server.port}'
  size = reverb.Client(address).server_info()[table].current_size
  return next(batches.batches(address, table, _LAYOUT, size)).data


def test_lanes_have_the_sequences_of_single_environments(server):
  client = reverb.Client(f'localhost:{server.port}')

  def make_writer(table, num_lanes):
    return sequence_writer.SequenceWriter(
      client, table, _LAYOUT, _PERIOD, num_lanes
    )

  batch = batch_adders.BatchSequenceAdder(make_writer('batch', _LANES))
  single = [
    sequence_adder.SequenceAdder(make_writer(str(lane), 1))
    for lane in range(_LANES)
  ]
  episodes = [_Episodes(lane) for lane in range(_LANES)]
  rng = np.random.default_rng(7)
  before = [None] * _LANES

  def begin(lane):
    before[lane] = episodes[lane].restart()
    for adder, place in ((batch, (lane,)), (single[lane], ())):
      adder.add_first(*place, before[lane])

  for lane in range(_LANES):
    begin(lane)
  for step in range(200):
    actions = rng.integers(0, 3, _LANES, np.int32)
    extras = {'log_prob': rng.normal(size=_LANES).astype(np.float32)}
    observations = {
      name: np.stack([timestep.observation[name] for timestep in before])
      for name in ('lane', 'values')
    }
    # Now and then a lane's step is not finite, and its episode is forgotten.
    lost = step // 20 % _LANES if step % 20 == 19 else None
    lanes = [lane for lane in range(_LANES) if lane != lost]
    after = [episodes[lane].step() for lane in range(_LANES)]
    if lost is not None:
      batch.forget(lost)
      single[lost].reset()
      begin(lost)
      after[lost] = before[lost]
    batch.add(lanes, observations, actions, after, extras)
    for lane in lanes:
      extra = {'log_prob': extras['log_prob'][lane]}
      single[lane].add(actions[lane], after[lane], extra)
      before[lane] = after[lane]
      if after[lane].last():
        begin(lane)

  of_batch = _sequences(server, 'batch')
  for lane in range(_LANES):
    is_lane = of_batch.observation['lane'][:, 0] == lane
    of_lane = tree.map_structure(lambda x, i=is_lane: x[i], of_batch)
    of_single = _sequences(server, str(lane))
    assert len(of_single.reward) > 30
    servers.assert_same(of_lane, of_single)


def test_lanes_with_adders_of_their_own_get_their_rows():
  class Adder:
    def __init__(self):
      self.steps = []

    def add_first(self, timestep):
      self.steps.append(timestep)

    def add(self, action, timestep, extras):
      self.steps.append((action, timestep, extras))

  adders = [Adder(), None, Adder()]
  batch = batch_adders.LaneAdders(adders)
  timesteps = [dm_env.restart(np.float32(lane)) for lane in range(3)]
  for lane, timestep in enumerate(timesteps):
    batch.add_first(lane, timestep)
  actions = {'move': np.arange(6.0).reshape(3, 2)}
  batch.add([1, 2], None, actions, timesteps, None)
  assert adders[0].steps == [timesteps[0]]
  first, (action, timestep, extras) = adders[2].steps
  assert (first, timestep, extras) == (timesteps[2], timesteps[2], None)
  assert action['move'].tolist() == [4.0, 5.0]
