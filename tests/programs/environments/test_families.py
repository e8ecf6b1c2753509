"""The steps of every family of environments fit its specs."""

import compat  # noqa: F401

import numpy as np
import pytest
import tree
from dm_env import specs

from programs import environments

_NAMES = [
  'gym:CartPole-v1',
  'gym:Pendulum-v1',
  'gym:FrozenLake-v1',
  'gym:Blackjack-v1',
  'gym:LunarLander-v3',
  'gym:BipedalWalker-v3',
  'gym:HalfCheetah-v5',
  'gym:ALE/Pong-v5',
  'dm_control:cartpole:swingup',
  'dm_control:manipulator:bring_ball',
  'bsuite:catch/0',
  'bsuite:cartpole_noise/0',
  'bsuite:deep_sea_stochastic/0',
  'bsuite:memory_len/3',
]


def _random_action(spec, rng):
  if np.issubdtype(spec.dtype, np.integer):
    assert isinstance(spec, specs.DiscreteArray)
    return spec.dtype.type(rng.integers(spec.num_values))
  np.testing.assert_array_equal(spec.minimum, -np.ones(spec.shape))
  np.testing.assert_array_equal(spec.maximum, np.ones(spec.shape))
  return rng.uniform(-1, 1, spec.shape).astype(spec.dtype)


def _validate(spec, value):
  tree.map_structure(lambda s, v: s.validate(v), spec, value)


def _run(name, num_steps, seed):
  """Returns rewards and observations of random steps in a new environment."""
  environments.check_environment(name)
  environment = environments.make_environment_factory(name)(seed)
  rng = np.random.default_rng(0)
  action_spec = environment.action_spec()
  seen = []
  timestep = environment.reset()
  for _ in range(num_steps):
    _validate(environment.observation_spec(), timestep.observation)
    if not timestep.first():
      _validate(environment.reward_spec(), timestep.reward)
      _validate(environment.discount_spec(), timestep.discount)
    seen.append((timestep.reward, timestep.observation))
    timestep = environment.step(_random_action(action_spec, rng))
  environment.close()
  return seen


@pytest.mark.parametrize('name', _NAMES)
def test_steps_keep_to_the_specs_and_are_the_same_with_the_same_seed(name):
  seen = _run(name, num_steps=200, seed=2**32 - 1)
  again = _run(name, num_steps=50, seed=2**32 - 1)
  tree.map_structure(np.testing.assert_array_equal, seen[:50], again)


def test_everything_is_in_32_bits_or_fewer():
  for name in _NAMES:
    environment = environments.make_environment_factory(name)(0)
    for spec in tree.flatten(
      (
        environment.observation_spec(),
        environment.action_spec(),
        environment.reward_spec(),
        environment.discount_spec(),
      )
    ):
      assert spec.dtype.itemsize <= 4, name


def test_atari_is_as_acmes_networks_expect():
  environment = environments.make_environment_factory('gym:ALE/Pong-v5')(0)
  observation = environment.reset().observation
  assert observation.shape == (84, 84, 4)
  assert observation.dtype == np.uint8
  following = environment.step(np.int32(0)).observation
  np.testing.assert_array_equal(following[..., :3], observation[..., 1:])


def test_control_suite_gives_one_vector():
  name = 'dm_control:manipulator:bring_ball'
  environment = environments.make_environment_factory(name)(0)
  assert environment.observation_spec().shape == (44,)
