"""Tests that transitions come out of replay as with Acme's own adder."""

from compat import acme_internals

import dm_env
import numpy as np
import pytest
import reverb
from acme import specs

from replay import rows
from tests.replay import servers


def _spec(
  observations, actions=None, number=np.float32
) -> specs.EnvironmentSpec:
  return specs.EnvironmentSpec(
    observations=observations,
    actions=specs.Array((2,), np.float32) if actions is None else actions,
    rewards=specs.Array((), number),
    discounts=specs.BoundedArray((), number, 0, 1),
  )


_VECTOR = _spec(specs.Array((3,), np.float32))
_PIXELS = _spec(
  specs.Array((84, 84, 4), np.uint8), specs.DiscreteArray(4, np.int32)
)
_NESTED = _spec(
  {
    'camera': specs.Array((5, 7, 3), np.uint8),
    'joints': (specs.Array((3,), np.float64), specs.Array((), np.int32)),
    'contact': specs.Array((3,), bool),
  },
  {'a': specs.DiscreteArray(3), 'b': specs.Array((2, 2), np.float32)},
)
_SPECS = {
  'vector': _VECTOR,
  'pixels': _PIXELS,
  'nested': _NESTED,
  'nested pixels': _spec(
    [specs.Array((64, 64, 3), np.uint8), specs.Array((3,), np.float32)]
  ),
  'float64': _spec(specs.Array((3,), np.float64), number=np.float64),
  'scalar': _spec(specs.Array((), np.int32), specs.DiscreteArray(3)),
}
_LENGTHS = (7, 1, 2, 4, 9)
_EXTRAS = {'logits': specs.Array((4,), np.float32)}


@pytest.fixture
def paths():
  """A function that makes Acme's path and this program's."""
  made = []

  def make(*args, **kwargs):
    both = servers.AcmePath, servers.PackedPath
    made.extend(path(*args, **kwargs) for path in both)
    return made

  yield make
  for path in made:
    path.close()


@pytest.fixture
def path():
  made = servers.PackedPath(_VECTOR, 3)
  yield made
  made.close()


@pytest.mark.parametrize('n_step', [1, 3, 5])
@pytest.mark.parametrize('name', _SPECS)
def test_items_are_those_of_acme(paths, name, n_step):
  samples = []
  for path in paths(_SPECS[name], n_step, _EXTRAS):
    # Some episodes are shorter than n_step, and some end without a terminal
    # state.
    for seed, length in enumerate(_LENGTHS):
      servers.add_episode(
        path.adder, _SPECS[name], length, seed % 2 == 0, seed, _EXTRAS
      )
    samples.append(path.all_items())
  acme, packed = samples
  more_at_ends = sum(min(n_step, length) - 1 for length in _LENGTHS)
  assert len(packed.info.key) == sum(_LENGTHS) + more_at_ends
  servers.assert_same(acme.data, packed.data)


def test_the_end_of_an_episode_is_in_replay_at_once(path):
  servers.add_episode(path.adder, _VECTOR, 40, True, 0)
  assert path.num_items() == 42


@pytest.mark.parametrize('name', ['vector', 'pixels'])
def test_forgets_an_unfinished_episode(paths, name):
  spec, samples = _SPECS[name], []
  for path in paths(spec, 3):
    for seed in range(2):
      servers.add_episode(path.adder, spec, 5, False, seed, is_complete=False)
      acme_internals.forget_episode(path.adder)
      servers.add_episode(path.adder, spec, 4, True, 10 + seed)
    samples.append(path.all_items())
  servers.assert_same(samples[0].data, samples[1].data)


def test_arrays_that_are_written_again_do_not_change_a_transition(path):
  observation, action = np.zeros(3, np.float32), np.zeros(2, np.float32)
  reward = np.zeros((), np.float32)
  path.adder.add_first(dm_env.restart(observation))
  for step in range(1, 4):
    observation[:], action[:], reward[...] = step, 10 * step, 100 * step
    path.adder.add(
      action, dm_env.transition(reward, observation, np.float32(1))
    )
  path.adder.reset()
  data = path.all_items().data
  np.testing.assert_array_equal(data.observation[:, 0], [0, 0, 0])
  np.testing.assert_array_equal(data.next_observation[:, 0], [1, 2, 3])
  np.testing.assert_array_equal(data.action[:, 0], [10, 10, 10])
  np.testing.assert_allclose(data.reward, [100, 280, 523], rtol=1e-6)


@pytest.mark.parametrize('extras', [(), None])
def test_an_actor_may_have_no_extras(path, extras):
  path.adder.add_first(dm_env.restart(np.zeros(3, np.float32)))
  one = np.float32(1)
  path.adder.add(
    np.zeros(2, np.float32),
    dm_env.truncation(one, np.zeros(3, np.float32), one),
    extras,
  )
  assert path.all_items().data.extras == ()


def test_info_and_priorities_are_those_of_acme(paths):
  infos = []
  for path in paths(
    _VECTOR, 1, make_sampler=lambda: reverb.selectors.Prioritized(0.6)
  ):
    servers.add_episode(path.adder, _VECTOR, 2, True, 0)
    before = path.batch(50)
    first, other = sorted({*before.info.key.tolist()})
    path.client.mutate_priorities(servers.TABLE, {first: 0.0, other: 7.0})
    after = path.batch(50).info
    assert {*after.key} == {other}
    assert {*after.priority} == {7.0}
    infos.append(after._replace(key=after.key - np.uint64(other)))
  servers.assert_same(*infos)


_O, _A, _ONE = (
  np.zeros(3, np.float32),
  np.zeros(2, np.float32),
  np.float32(1),
)


@pytest.mark.parametrize(
  ('step', 'words'),
  [
    ((_A, 1.0, _O), 'reward is float64[], but its spec says float32[]'),
    ((_A, _ONE, _O[:2]), 'observation is float32[2], but its spec says'),
    ((np.zeros(2), _ONE, _O), 'action is float64[2], but its spec says'),
    (([0.0, 0.0], _ONE, _O), 'action is float64[2]'),
    (({'a': _A}, _ONE, _O), 'action is object[]'),
  ],
)
def test_a_misfit_is_an_error_that_names_the_array(path, step, words):
  action, reward, observation = step
  path.adder.add_first(dm_env.restart(_O))
  with pytest.raises(rows.UnpackableError) as e:
    path.adder.add(action, dm_env.transition(reward, observation, _ONE))
  assert words in str(e.value)


def test_an_episode_begins_with_its_first_step(path):
  timestep = dm_env.transition(_ONE, _O, _ONE)
  with pytest.raises(ValueError, match='first timestep'):
    path.adder.add_first(timestep)
  with pytest.raises(ValueError, match='add_first'):
    path.adder.add(_A, timestep)
