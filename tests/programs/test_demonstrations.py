"""Recorded episodes come back whole, the last ones, where they fit."""

import itertools

import numpy as np
import pytest

from tests.programs import recordings


def test_episodes_come_back_whole(tmp_path):
  dataset, returns = recordings.record(tmp_path, 'gym:CartPole-v1', 3)
  transitions = dataset.load()
  assert transitions.reward.sum() == sum(returns)
  assert transitions.observation.shape == (sum(returns), 4)
  assert transitions.observation.dtype == np.float32
  # All three ended by the pole's fall.
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


def test_an_empty_directory_is_refused(tmp_path):
  dataset, _ = recordings.record(tmp_path / 'full', 'gym:CartPole-v1', 1)
  with pytest.raises(ValueError, match='no recorded episodes.*--record'):
    type(dataset)(str(tmp_path), dataset.environment_spec).load()


def test_another_environment_is_refused(tmp_path):
  recordings.record(tmp_path, 'gym:CartPole-v1', 1)
  other, _ = recordings.record(tmp_path / 'other', 'gym:Pendulum-v1', 1)
  with pytest.raises(ValueError, match='recorded in another environment'):
    type(other)(str(tmp_path), other.environment_spec).load()


def test_a_torn_file_is_named(tmp_path):
  dataset, _ = recordings.record(tmp_path, 'gym:CartPole-v1', 1)
  (path,) = tmp_path.glob('episodes/*.npz')
  path.write_bytes(path.read_bytes()[:100])
  with pytest.raises(ValueError, match=f'{path} is no recorded episode'):
    dataset.load()
