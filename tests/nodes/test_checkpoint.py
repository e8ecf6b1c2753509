"""A checkpoint is whole, of the right thing, or not used."""

import collections

import jax.numpy as jnp
import numpy as np
import pytest

from nodes import checkpoint

_State = collections.namedtuple('_State', ['params', 'key', 'steps'])


@pytest.fixture
def config(tmp_path):
  return checkpoint.CheckpointingConfig(str(tmp_path), max_to_keep=2)


def _state(steps, width=3):
  return _State(
    {'linear': {'w': jnp.full((2, width), steps, jnp.float32)}},
    np.array([1, steps], np.uint32),
    steps,
  )


def test_the_newest_state_comes_back(config):
  saver = checkpoint.Checkpointer(config, 'learner')
  saver.save(_state(1))
  saver.save(_state(2))
  state = checkpoint.Checkpointer(config, 'learner').restore()
  assert isinstance(state, _State)
  assert state.steps == 2
  np.testing.assert_array_equal(
    state.params['linear']['w'], np.full((2, 3), 2, np.float32)
  )
  np.testing.assert_array_equal(state.key, [1, 2])


def test_nothing_saved_is_none(config):
  assert checkpoint.Checkpointer(config, 'learner').restore() is None


def test_processes_do_not_share(config):
  checkpoint.Checkpointer(config, 'learner').save(_state(1))
  assert checkpoint.Checkpointer(config, 'counter').restore() is None


def test_only_the_newest_are_kept(config, tmp_path):
  saver = checkpoint.Checkpointer(config, 'learner')
  for steps in range(4):
    saver.save(_state(steps))
  assert len(list((tmp_path / 'learner').iterdir())) == 2
  assert saver.restore().steps == 3


@pytest.mark.parametrize('damage', ['cut', 'flipped', 'foreign', 'empty'])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
  config, tmp_path, damage
):
  saver = checkpoint.Checkpointer(config, 'learner')
  saver.save(_state(1))
  saver.save(_state(2))
  newest = max((tmp_path / 'learner').iterdir())
  content = newest.read_bytes()
  newest.write_bytes(
    {
      'cut': content[:-10],
      'flipped': content[:-10] + bytes(10),
      'foreign': b'not one of ours',
      'empty': b'',
    }[damage]
  )
  assert saver.restore().steps == 1


def test_a_save_killed_midway_leaves_no_checkpoint(config, tmp_path):
  saver = checkpoint.Checkpointer(config, 'learner')
  saver.save(_state(1))
  (tmp_path / 'learner' / '.unfinished-x').write_bytes(b'launchpad')
  assert checkpoint.Checkpointer(config, 'learner').restore().steps == 1


def test_another_network_is_named():
  checkpoint.check_same_structure(_state(1), _state(2))
  with pytest.raises(
    checkpoint.CheckpointMismatchError,
    match=r'linear.*w.*float32\[2, 4\].*float32\[2, 3\]',
  ):
    checkpoint.check_same_structure(_state(1, width=4), _state(1, width=3))


def test_another_agent_is_named():
  with pytest.raises(checkpoint.CheckpointMismatchError, match='nothing'):
    checkpoint.check_same_structure({'q': np.zeros(2)}, {'pi': np.zeros(2)})


def test_a_count_may_have_become_an_array():
  checkpoint.check_same_structure({'steps': jnp.int32(7)}, {'steps': 0})
  checkpoint.check_same_structure({'steps': 7}, {'steps': jnp.int32(0)})
  with pytest.raises(checkpoint.CheckpointMismatchError, match='a float.*int'):
    checkpoint.check_same_structure({'steps': 7.0}, {'steps': 0})
