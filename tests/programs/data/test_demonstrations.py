"""Recorded episodes are read completely, or refused if they do not fit."""

import itertools

import gymnasium
import minari
import numpy as np
import pytest
from acme import specs

from programs import environments
from programs.agents import sac
from programs.data import demonstrations
from tests.programs.data import recordings


def test_episodes_come_back_whole(tmp_path):
  dataset, returns = recordings.record(tmp_path, 'gym:CartPole-v1', 3)
  transitions = dataset.load()
  assert transitions.reward.sum() == sum(returns)
  assert transitions.observation.shape == (sum(returns), 4)
  assert transitions.observation.dtype == np.float32
  # All three episodes ended because the pole fell.
  assert (transitions.discount == 0).sum() == 3
  within = transitions.discount[:-1] == 1
  np.testing.assert_array_equal(
    transitions.next_observation[:-1][within],
    transitions.observation[1:][within],
  )


def test_the_last_episodes_are_taken(tmp_path):
  dataset, returns = recordings.record(tmp_path, 'gym:CartPole-v1', 4)
  assert dataset.load(2).reward.sum() == sum(returns[-2:])


def test_batches_are_drawn_from_the_seed(tmp_path):
  dataset, _ = recordings.record(tmp_path, 'gym:Pendulum-v1', 1)

  def rewards(n):
    return [b.reward for b in itertools.islice(dataset.batches(5), n)]

  np.testing.assert_array_equal(rewards(3), rewards(3))
  assert len(np.unique(rewards(3))) > 5


def test_several_gradient_steps_at_once_get_a_batch_for_each(tmp_path):
  dataset, _ = recordings.record(tmp_path, 'gym:Pendulum-v1', 1)
  config = sac.Config(batch_size=5, gradient_steps_at_once=3)
  sample = next(demonstrations.replay_samples(config, dataset))
  assert sample.data.reward.shape == sample.info.priority.shape == (15,)


def test_an_empty_directory_is_refused(tmp_path):
  dataset, _ = recordings.record(tmp_path / 'full', 'gym:CartPole-v1', 1)
  with pytest.raises(ValueError, match='no recorded episodes.*--record'):
    type(dataset)(str(tmp_path), dataset.environment_spec).load()


def test_another_environment_is_refused(tmp_path):
  recordings.record(tmp_path, 'gym:CartPole-v1', 1)
  other, _ = recordings.record(tmp_path / 'other', 'gym:Pendulum-v1', 1)
  with pytest.raises(ValueError, match='recorded in another environment'):
    type(other)(str(tmp_path), other.environment_spec).load()


def test_a_dataset_of_minari_is_read(tmp_path, monkeypatch):
  monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path))
  environment = minari.DataCollector(gymnasium.make('Pendulum-v1'))
  for seed in range(3):
    environment.reset(seed=seed)
    for _ in range(200):
      *_, reward, _, truncated, _ = environment.step(
        np.array([2.0], np.float32)
      )
    assert truncated
  environment.create_dataset('pendulum/test-v0')
  spec = specs.make_environment_spec(
    environments.make_environment_factory('gym:Pendulum-v1')(0)
  )
  dataset = demonstrations.Demonstrations('minari:pendulum/test-v0', spec)
  transitions = dataset.load(2)
  assert transitions.observation.shape == (400, 3)
  assert transitions.reward[-1] == np.float32(reward)
  # The highest action is 2 in the environment, and 1 for agents.
  np.testing.assert_array_equal(transitions.action, 1)
  # All episodes were truncated; none was terminated.
  np.testing.assert_array_equal(transitions.discount, 1)
  with pytest.raises(ValueError, match='minari download pendulum/none-v0'):
    demonstrations.Demonstrations('minari:pendulum/none-v0', spec).load()


def test_a_torn_file_is_refused_by_its_name(tmp_path):
  dataset, _ = recordings.record(tmp_path, 'gym:CartPole-v1', 1)
  (path,) = tmp_path.glob('episodes/*.npz')
  path.write_bytes(path.read_bytes()[:100])
  with pytest.raises(ValueError, match=f'{path} is not a recorded episode'):
    dataset.load()


@pytest.mark.parametrize('name', ['reward/0', 'observation/0', 'action/0'])
def test_a_nan_is_refused_with_its_file_and_step(tmp_path, name):
  dataset, _ = recordings.record(tmp_path, 'gym:Pendulum-v1', 2)
  *_, path = sorted((tmp_path / 'episodes').glob('*.npz'))
  with np.load(path) as file:
    arrays = dict(file)
  arrays[name][70] = np.nan
  np.savez(path, **arrays)
  what = name.partition('/')[0]
  with pytest.raises(ValueError, match=f'{path.name}, step 70: the {what}'):
    dataset.load()
