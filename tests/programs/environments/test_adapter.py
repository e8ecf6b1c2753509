"""Observations, rewards and actions are converted without loss, or refused."""

import compat  # noqa: F401

import dm_env
import gymnasium
import ml_dtypes
import numpy as np
import pytest
from dm_env import specs
from gymnasium import spaces

from nodes.checks import finite
from programs import environments
from programs.environments import errors, gym
from run_files import metric_names


class _Env(gymnasium.Env):
  """Returns the observations that a test gives it, and records the actions."""

  def __init__(self, observations, values, actions=None, reward=1.0):
    self.observation_space = observations
    self.action_space = actions or spaces.Discrete(2)
    self.values, self.reward = list(values), reward
    self.actions = []

  def reset(self, *, seed=None, options=None):
    return self.values.pop(0), {}

  def step(self, action):
    self.actions.append(action)
    return self.values.pop(0), self.reward, False, False, {}


class _DmEnv(dm_env.Environment):
  """An environment with rewards of int[1] that records the last action."""

  def __init__(self, observation_spec, action_spec, value=None):
    self._specs = observation_spec, action_spec
    self.value, self.action = value, None

  def observation_spec(self):
    return self._specs[0]

  def action_spec(self):
    return self._specs[1]

  def reward_spec(self):
    return specs.Array((1,), np.int64, 'points')

  def reset(self):
    return dm_env.restart(self.value)

  def step(self, action):
    self.action = action
    return dm_env.termination([3], self.value)


def _adapt(env):
  if isinstance(env, gymnasium.Env):
    env = gym.GymnasiumEnvironment(env, 0)
  return environments.adapt(env)


def _box(dtype=np.float32, shape=(2,), low=-1, high=1):
  return spaces.Box(low, high, shape, dtype)


@pytest.mark.parametrize(
  'space, value, dtype',
  [
    (_box(np.float64), np.array([0.1, 5]), np.float32),
    (_box(np.float16), np.array([0.5, 1], np.float16), np.float32),
    (_box(), [0.25, 1], np.float32),
    (_box(), np.array([np.nan, -np.inf]), np.float32),
    (_box(), np.array([1, 0]), np.float32),
    (_box(shape=()), 0.5, np.float32),
    (_box(shape=(2, 3)), np.ones((3, 2)).T, np.float32),
    (_box(np.int64), np.array([2**31 - 1, -1]), np.int32),
    (_box(np.uint32, high=9, low=0), np.array([0, 9]), np.int32),
    (_box(np.uint64, high=2**60, low=0), np.array([0, 2**60]), np.float32),
    (_box(np.uint8, high=255, low=0), np.array([0, 255]), np.uint8),
    (spaces.MultiBinary(2), np.array([True, False]), np.int8),
    (spaces.Discrete(3, start=7), 9, np.int32),
  ],
)
def test_observations_keep_their_values(space, value, dtype):
  environment = _adapt(_Env(space, [value]))
  observation = environment.reset().observation
  spec = environment.observation_spec()
  assert (observation.shape, observation.dtype) == (spec.shape, dtype)
  assert spec.dtype == dtype
  assert observation.flags.c_contiguous
  expected = np.asarray(value) - getattr(space, 'start', 0)
  np.testing.assert_allclose(observation, expected, 1e-6)


@pytest.mark.parametrize(
  'space, value, message',
  [
    (_box(np.float64), np.array([1, 1e300]), 'observation .* 1e.300, which fl'),
    (_box(), np.ones(3), r'shape \(3,\), and its spec \(2,\)'),
    (_box(np.int32), np.array([0.5, 1]), 'value 0.5, which int32'),
    (_box(np.int64), np.array([2**31, 1]), 'value 2147483648, which int32'),
    (_box(np.uint8, low=0), np.array([-1, 1]), 'value -1, which uint8'),
    (_box(), np.array(['a', 'b']), 'of dtype <U1'),
    (_box(), None, 'shape'),
    (_box(shape=()), None, 'None, of dtype object'),
    (_box(), np.array([1j, 1]), 'of dtype complex'),
    (
      spaces.Dict(a=_box(), b=spaces.Dict(c=_box(np.int32))),
      {'a': np.ones(2), 'b': {'c': np.array([np.nan, 1])}},
      'observation/b/c has the value nan',
    ),
    (spaces.Dict(a=_box()), {'b': np.ones(2)}, "has no part 'a'"),
    (spaces.Tuple([_box(), _box()]), (np.ones(2),), 'has no part 1'),
  ],
)
def test_an_observation_outside_its_space_is_refused_by_its_name(
  space, value, message
):
  environment = _adapt(_Env(space, [value]))
  with pytest.raises(errors.UnfitEnvironmentError, match=message):
    environment.reset()


def test_each_steps_observation_is_checked():
  environment = _adapt(_Env(_box(), [np.ones(2), np.full(2, 1e39)]))
  with pytest.raises(errors.UnfitEnvironmentError, match='1e.39'):
    environments.try_out(environment)


def test_an_observation_is_a_copy():
  array = np.ones(2, np.float32)
  first = _adapt(_Env(_box(), [array])).reset().observation
  array[:] = 0
  np.testing.assert_array_equal(first, 1)


@pytest.mark.parametrize(
  'reward', [2, np.int64(2), np.array([2]), np.array([[2.0]]), '2', None, 1e39]
)
def test_a_reward_is_one_number(reward):
  environment = _adapt(_Env(_box(), [np.ones(2)] * 2, reward=reward))
  environment.reset()
  if reward in ('2', None, 1e39):
    with pytest.raises(errors.UnfitEnvironmentError, match='the reward'):
      environment.step(0)
    return
  found = environment.step(0).reward
  assert (found, found.shape, found.dtype) == (2, (), np.float32)


@pytest.mark.parametrize(
  'space, action, expected',
  [
    (_box(shape=()), [0.5], 0.5),
    (_box(shape=(1, 1), high=3), [0.5], [[2.0]]),
    (_box(shape=(2, 2)), [1, -9, 0, 9], [[1, -1], [0, 1]]),
    (
      _box(np.float64, low=np.array([0, -4]), high=np.array([1, 4])),
      [0, 1],
      [0.5, 4],
    ),
    (_box(np.float16), [1, -1], [1, -1]),
    (_box(low=2, high=2), [1, -1], [2, 2]),
    (_box(np.int64, (1, 1), 5, 7), 2, [[7]]),
    (spaces.MultiDiscrete([3], start=[4]), 1, [5]),
    (spaces.MultiDiscrete([2, 3]), [1, 2], [1, 2]),
    (spaces.Discrete(3, start=-1), 0, -1),
  ],
)
def test_an_action_reaches_the_environment_in_its_own_form(
  space, action, expected
):
  env = _Env(_box(), [np.ones(2)] * 2, space)
  environment = _adapt(env)
  environment.reset()
  action = np.asarray(action, environment.action_spec().dtype)
  assert action.shape == environment.action_spec().shape
  environment.step(action)
  (found,) = env.actions
  assert space.contains(found)
  np.testing.assert_array_equal(found, expected)


def test_an_observation_too_great_for_float32_may_be_left_out():
  watch = finite.Watch(stop=False)
  values = [np.full(2, 1e300), np.ones(2)]
  environment = _adapt(_Env(_box(np.float64), values))
  timestep = watch.try_until_finite(environment.reset, lambda: None)
  np.testing.assert_array_equal(timestep.observation, 1)
  assert watch.metrics() == {metric_names.LEFT_OUT: 1.0}


def test_actions_in_a_dict_are_adapted_one_by_one():
  space = spaces.Dict(a=_box(shape=(1, 2), high=3), b=spaces.MultiDiscrete([4]))
  env = _Env(_box(), [np.ones(2)] * 2, space)
  environment = _adapt(env)
  spec = environment.action_spec()
  assert spec['a'].shape == (2,)
  assert spec['b'].num_values == 4
  environment.reset()
  environment.step({'a': np.array([0, 1], np.float32), 'b': np.int32(3)})
  np.testing.assert_array_equal(env.actions[0]['a'], [[1, 3]])
  np.testing.assert_array_equal(env.actions[0]['b'], [3])


def test_an_environment_of_dm_env_is_adapted_too():
  value = {'x': np.ones(2, ml_dtypes.bfloat16), 'y': (True, 2**30)}
  spec = {
    'x': specs.Array((2,), ml_dtypes.bfloat16),
    'y': (specs.Array((), bool), specs.Array((), np.int64)),
  }
  env = _DmEnv(spec, specs.BoundedArray((), np.float64, 0, 10), value)
  environment = _adapt(env)
  observation = environment.reset().observation
  assert observation['x'].dtype == np.float32
  assert [x.dtype for x in observation['y']] == [bool, np.int32]
  timestep = environment.step(np.array([0.0], np.float32))
  assert env.action == 5.0
  assert (timestep.reward, timestep.reward.shape) == (3, ())
  assert timestep.discount == 0
  environment.reward_spec().validate(timestep.reward)
  environment.discount_spec().validate(timestep.discount)
  env.value = {'x': np.ones(2)}
  with pytest.raises(errors.UnfitEnvironmentError, match='structure'):
    environment.reset()


@pytest.mark.parametrize(
  'spec',
  [
    specs.StringArray(()),
    specs.Array((), 'datetime64[s]'),
    specs.Array((), complex),
  ],
)
def test_a_spec_of_anything_but_numbers_is_refused(spec):
  with pytest.raises(errors.UnfitEnvironmentError, match='observation/a'):
    _adapt(_DmEnv({'a': spec}, specs.DiscreteArray(2)))


@pytest.mark.parametrize(
  'step, message',
  [
    ((np.ones(2), 1.0, True, {}), r'step\(\) gives a tuple of 4; Gymnasium'),
    (None, r'step\(\) gives a NoneType; Gymnasium'),
  ],
)
def test_a_step_of_older_gyms_form_is_refused(step, message, monkeypatch):
  env = _Env(_box(), [np.ones(2)])
  monkeypatch.setattr(env, 'step', lambda action: step)
  with pytest.raises(errors.UnfitEnvironmentError, match=message):
    environments.try_out(_adapt(env))


def test_anything_but_a_spec_or_a_timestep_is_refused(monkeypatch):
  with pytest.raises(errors.UnfitEnvironmentError, match='no spec of dm'):
    _adapt(_DmEnv(None, specs.DiscreteArray(2)))
  env = _DmEnv(specs.Array((), float), specs.DiscreteArray(2), 1.0)
  monkeypatch.setattr(env, 'reset', lambda: (1.0, 0.0))
  with pytest.raises(errors.UnfitEnvironmentError, match='gives a tuple'):
    environments.try_out(_adapt(env))
