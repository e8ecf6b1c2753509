"""Environments are made by name, with a seed, in the form that agents take."""

import compat  # noqa: F401

import cloudpickle
import dm_env
import gymnasium
import numpy as np
import pytest
from acme import core, environment_loop
from acme.utils import loggers
from dm_env import specs
from gymnasium import spaces

from programs import environments
from programs.environments import errors, gym, rendering

_HERE = f'module:{__name__}'


class Scripted(gymnasium.Env):
  """Ends at its third step in the way `ending`; records seeds and actions."""

  observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
  action_space = spaces.Box(-2.0, 6.0, (1,), np.float32)

  def __init__(self, ending='terminated'):
    self.ending = ending
    self.seeds = []
    self.actions = []

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self.seeds.append(seed)
    self.steps = 0
    return np.zeros(2), {}

  def step(self, action):
    self.steps += 1
    self.actions.append(action)
    over = self.steps == 3
    terminated = over and self.ending != 'truncated'
    truncated = over and self.ending != 'terminated'
    return np.full(2, self.steps), 1, terminated, truncated, {}


class OneStep(dm_env.Environment):
  """A dm_env environment whose rewards are Python ints."""

  def __init__(self, start):
    self.start = start

  def reset(self):
    return dm_env.restart(np.float32(self.start))

  def step(self, action):
    return dm_env.termination(1, np.float32(self.start))

  def observation_spec(self):
    return specs.Array((), np.float32)

  def action_spec(self):
    return specs.DiscreteArray(2)


def takes_seed_by_name(size=3, seed=None):
  return OneStep(seed)


def takes_one_argument(random_seed):
  return OneStep(random_seed)


def takes_nothing(size=3):
  return OneStep(size)


def returns_gymnasium():
  return Scripted()


def returns_unbounded_actions():
  environment = Scripted()
  limit = np.finfo(np.float32).max
  environment.action_space = spaces.Box(-limit, limit, (1,), np.float32)
  return environment


def returns_nonsense():
  return 'an environment'


def _make(name, seed=0):
  return environments.make_environment_factory(name)(np.uint32(seed))


def _first_episodes(name, seed, num_episodes=2):
  environment = _make(name, seed)
  rng = np.random.default_rng(0)
  episodes = []
  for _ in range(num_episodes):
    timestep = environment.reset()
    observations = [timestep.observation]
    while not timestep.last():
      action = rng.uniform(-1, 1, environment.action_spec().shape)
      timestep = environment.step(action.astype(np.float32))
      observations.append(timestep.observation)
    episodes.append(np.stack(observations))
  return episodes


def test_same_seed_gives_the_same_episodes():
  first = _first_episodes('gym:Pendulum-v1', seed=2**32 - 1)
  second = _first_episodes('gym:Pendulum-v1', seed=2**32 - 1)
  np.testing.assert_array_equal(first, second)


def test_other_seeds_and_later_episodes_differ():
  first, second = _first_episodes('gym:Pendulum-v1', seed=1)
  other, _ = _first_episodes('gym:Pendulum-v1', seed=2)
  assert not np.array_equal(first[0], other[0])
  assert not np.array_equal(first[0], second[0])


def test_seed_goes_to_the_first_reset_only():
  scripted = Scripted()
  environment = gym.GymnasiumEnvironment(scripted, seed=7)
  for _ in range(3):
    environment.reset()
  assert scripted.seeds == [7, None, None]
  expected = spaces.Box(-2.0, 6.0, (1,), np.float32, seed=7).sample()
  assert scripted.action_space.sample() == expected


def test_factory_survives_pickling():
  factory = environments.make_environment_factory('gym:CartPole-v1')
  factory = cloudpickle.loads(cloudpickle.dumps(factory))
  assert factory(3).reset().observation.shape == (4,)


@pytest.mark.parametrize(
  'ending, discount', [('terminated', 0.0), ('truncated', 1.0), ('both', 0.0)]
)
def test_last_discount_tells_terminated_from_truncated(ending, discount):
  environment = gym.GymnasiumEnvironment(Scripted(ending), seed=0)
  timesteps = [environment.reset()]
  timesteps += [environment.step(np.zeros(1)) for _ in range(3)]
  assert [t.discount for t in timesteps] == [None, 1.0, 1.0, discount]
  assert [t.last() for t in timesteps] == [False, False, False, True]


def test_step_begins_an_episode_before_reset_and_after_the_last_step():
  environment = _make(f'{_HERE}:returns_gymnasium')
  action = np.zeros(1, np.float32)
  kinds = [environment.step(action).step_type for _ in range(5)]
  first, mid, last = dm_env.StepType
  assert kinds == [first, mid, mid, last, first]


def test_continuous_actions_are_between_minus_one_and_one():
  environment = _make('gym:Pendulum-v1')
  expected = specs.BoundedArray((1,), np.float32, -1.0, 1.0, 'action')
  assert environment.action_spec() == expected


def test_actions_are_scaled_and_clipped():
  environment = _make(f'{_HERE}:returns_gymnasium')
  environment.reset()
  actions = np.array([[-1.0], [0.5], [3.0]], np.float32)
  for action in actions:
    environment.step(action)
  np.testing.assert_allclose(
    environment.unwrapped.actions, [[-2.0], [4.0], [6.0]]
  )
  # Replay gets the agent's own array, so the environment must not change it.
  np.testing.assert_array_equal(actions, [[-1.0], [0.5], [3.0]])


def test_actions_without_real_bounds_are_left_alone():
  environment = _make(f'{_HERE}:returns_unbounded_actions')
  environment.reset()
  environment.step(np.array([17.0], np.float32))
  assert environment.unwrapped.actions == [17.0]


@pytest.mark.parametrize('name', ['returns_gymnasium', 'takes_nothing'])
def test_timesteps_are_in_single_precision(name):
  environment = _make(f'{_HERE}:{name}')
  environment.reset()
  action = np.zeros(environment.action_spec().shape, np.float32)
  timestep = environment.step(action)
  environment.observation_spec().validate(timestep.observation)
  environment.reward_spec().validate(timestep.reward)
  environment.discount_spec().validate(timestep.discount)
  assert timestep.observation.dtype == np.float32
  assert timestep.reward.dtype == np.float32


class _Idle(core.Actor):
  def select_action(self, observation):
    return np.zeros(1, np.float32)

  def observe_first(self, timestep):
    pass

  def observe(self, action, next_timestep):
    pass

  def update(self, wait=False):
    pass


def test_acme_loop_sums_the_rewards():
  loop = environment_loop.EnvironmentLoop(
    _make(f'{_HERE}:returns_gymnasium'),
    _Idle(),
    logger=loggers.NoOpLogger(),
  )
  result = loop.run_episode()
  assert (result['episode_return'], result['episode_length']) == (3.0, 3)


@pytest.mark.parametrize(
  'factory, start',
  [('takes_seed_by_name', 5), ('takes_one_argument', 5), ('takes_nothing', 3)],
)
def test_own_factory_gets_the_seed_if_it_takes_one(factory, start):
  name = f'{_HERE}:{factory}'
  environments.check_environment(name)
  assert _make(name, seed=5).reset().observation == start


def test_own_factory_must_return_an_environment():
  with pytest.raises(errors.UnknownEnvironmentError, match='a str'):
    _make(f'{_HERE}:returns_nonsense')


@pytest.mark.parametrize(
  'libraries, backend',
  [({'EGL', 'OSMesa'}, 'egl'), ({'OSMesa'}, 'osmesa'), (set(), 'disable')],
)
def test_mujoco_renders_off_screen(monkeypatch, libraries, backend):
  # It is set and then removed, so that pytest undoes the test's own setting.
  monkeypatch.setenv('MUJOCO_GL', '')
  monkeypatch.delenv('MUJOCO_GL')
  monkeypatch.setattr(
    rendering.ctypes.util, 'find_library', lambda name: name in libraries
  )
  rendering.use_no_screen()
  assert rendering.os.environ['MUJOCO_GL'] == backend


def test_renders_without_a_screen(monkeypatch):
  monkeypatch.delenv('DISPLAY', raising=False)
  environment = _make('gym:CartPole-v1')
  environment.reset()
  picture = environment.render()
  assert (picture.dtype, picture.ndim) == (np.uint8, 3)
