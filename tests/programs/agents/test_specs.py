"""Each agent takes each kind of action and observation, or refuses it.

No process runs and nothing is compiled: networks, policies and learner steps
are traced for their shapes.
"""

from compat import acme_internals

import gymnasium
import jax
import numpy as np
import pytest
import reverb
import tree
from acme import specs, types
from acme.utils import counting, loggers
from gymnasium import spaces

from programs import (
  agents,
  environments,
  experiment,
  replay_tables,
  variable_tables,
)
from programs.environments import gym

_ACTIONS = {
  'scalar': (spaces.Box(-2, 2, (), np.float32), 'continuous'),
  'vector': (spaces.Box(-1, 1, (2,), np.float32), 'continuous'),
  '1x1': (spaces.Box(-1, 1, (1, 1), np.float32), 'continuous'),
  '2x3': (spaces.Box(-1, 1, (2, 3), np.float32), 'continuous'),
  'float64': (spaces.Box(-1, 1, (2,), np.float64), 'continuous'),
  'float16': (spaces.Box(-1, 1, (2,), np.float16), 'continuous'),
  'own bounds': (
    spaces.Box(np.array([-3, 0]), np.array([1, 9]), dtype=np.float64),
    'continuous',
  ),
  'unbounded': (spaces.Box(-np.inf, np.inf, (2,)), None),
  'half bounded': (spaces.Box(0, np.inf, (2,)), None),
  'no elements': (spaces.Box(-1, 1, (0,)), None),
  'discrete': (spaces.Discrete(3), 'discrete'),
  'discrete from 5': (spaces.Discrete(3, start=5), 'discrete'),
  'one integer': (spaces.Box(2, 4, (1,), np.int64), 'discrete'),
  'one of several': (spaces.MultiDiscrete([3]), 'discrete'),
  'several': (spaces.MultiDiscrete([2, 3]), None),
  'dict': (spaces.Dict(a=spaces.Discrete(2)), None),
}
_OBSERVATIONS = {
  'vector': (spaces.Box(-1, 1, (3,), np.float32), 'vector'),
  'float16': (spaces.Box(-1, 1, (3,), np.float16), 'vector'),
  'float64': (spaces.Box(-np.inf, np.inf, (3,), np.float64), 'vector'),
  'scalar': (spaces.Box(-1, 1, (), np.float32), 'other'),
  '1x1': (spaces.Box(-1, 1, (1, 1), np.float32), 'other'),
  '4 axes': (spaces.Box(-1, 1, (2, 2, 2, 2), np.float32), 'other'),
  'integers': (spaces.Box(-9, 9, (3,), np.int64), 'other'),
  'unsigned': (spaces.Box(0, 2**32 - 1, (3,), np.uint32), 'vector'),
  'bool': (spaces.MultiBinary(3), 'other'),
  'discrete from 5': (spaces.Discrete(3, start=5), 'other'),
  'multi discrete': (spaces.MultiDiscrete([2, 3]), 'other'),
  'picture': (spaces.Box(0, 255, (9, 8, 3), np.uint8), 'image'),
  'channels first': (spaces.Box(0, 1, (3, 9, 8), np.float64), 'image'),
  'channels in the middle': (spaces.Box(0, 1, (9, 3, 8)), None),
  'no elements': (spaces.Box(-1, 1, (0,), np.float32), None),
  'dict': (
    spaces.Dict(a=spaces.Box(-1, 1, (2,), np.float64), b=spaces.Discrete(2)),
    'nested',
  ),
  'tuple': (
    spaces.Tuple([spaces.Box(-1, 1, ()), spaces.Discrete(2)]),
    'nested',
  ),
}
# These are traced with all observations; the others have the torso of PPO.
_ALL_TRACED = ('d4pg', 'ppo')
_TRACED = [(a, 'float16') for a in agents.AGENTS if a != 'impala']
# Their learners use `pmap`, which cannot be traced.
_NOT_TRACED = ('impala', 'r2d2')
# Tracing these takes seconds; tracing the others takes less than one second.
_SLOW = ('ail', 'd4pg', 'value_dice')


class _Random(gymnasium.Env):
  def __init__(self, observations, actions):
    self.observation_space = observations
    self.action_space = actions

  def reset(self, *, seed=None, options=None):
    return self.observation_space.sample(), {}

  def step(self, action):
    assert self.action_space.contains(action), action
    return self.observation_space.sample(), 1, False, False, {}


class _Zeros:
  """Has the interface of `Demonstrations`, and yields zeros."""

  def __init__(self, spec):
    self._spec = spec

  def batches(self, batch_size, num_episodes=None):
    def zeros(part):
      return np.zeros((batch_size, *part.shape), part.dtype)

    spec = self._spec
    nests = (spec.observations, spec.actions, spec.rewards, spec.discounts)
    nests = [tree.map_structure(zeros, nest) for nest in nests]
    while True:
      yield types.Transition(*nests, next_observation=nests[0])


class _Fixed:
  """A variable source that returns the learner's current variables."""

  def __init__(self, learner):
    self._variables = learner.get_variables(['', 'network'])[:1]

  def get_variables(self, names):
    return self._variables


def _actions(agent):
  return {kind.value for kind in agents.find(agent).actions}


def _observations(agent):
  return {kind.value for kind in agents.find(agent).observations}


def _adapted(observations, actions):
  return environments.adapt(
    gym.GymnasiumEnvironment(_Random(observations, actions), 0)
  )


def _make(agent, environment):
  """Returns an experiment, and zeros for demonstrations."""
  spec = specs.make_environment_spec(environment)
  zeros = _Zeros(spec)
  parts = agents.make_parts(agent, spec, agents.make_config(agent), zeros)
  made = experiment.ExperimentConfig(
    **vars(parts),
    environment_factory=None,
    max_num_actor_steps=1,
    environment_spec=spec,
  )
  return made, zeros


def _trace_policies(agent, made, observation):
  """Returns the specs of the actions of actors and of evaluators."""
  spec = made.environment_spec
  key = jax.random.PRNGKey(0)
  source = None
  if agent in _NOT_TRACED:
    source = _Fixed(variable_tables.idle_learner(made, spec, key))

  def act(evaluation):
    actor = made.get_builder().make_actor(
      key,
      made.make_policy(made.network_factory(spec), spec, evaluation),
      spec,
      source or variable_tables.idle_learner(made, spec, key),
    )
    functions = acme_internals.pure_functions(actor)
    params = acme_internals.parameters(actor)
    return functions.select_action(params, observation, functions.init(key))[0]

  return [jax.eval_shape(lambda e=e: act(e)) for e in (False, True)]


@pytest.mark.parametrize('agent', agents.AGENTS)
@pytest.mark.parametrize('actions', _ACTIONS)
def test_actions_of_an_agent_fit_the_environment_or_are_refused(agent, actions):
  space, kind = _ACTIONS[actions]
  environment = _adapted(_OBSERVATIONS['vector'][0], space)
  environments.try_out(environment)
  if kind not in _actions(agent):
    with pytest.raises(ValueError, match=f'^{agent} takes .*actions') as caught:
      _make(agent, environment)
    assert '\n' not in str(caught.value)
    return
  made, _ = _make(agent, environment)
  assert made.environment_spec.actions.shape in ((), (_size(space),))


def _size(space):
  return int(np.prod(space.shape))


@pytest.mark.parametrize('agent', agents.AGENTS)
@pytest.mark.parametrize('observations', _OBSERVATIONS)
def test_an_agent_acts_on_observations_or_refuses_them(agent, observations):
  space, kind = _OBSERVATIONS[observations]
  discrete = 'discrete' in _actions(agent)
  action_space, _ = _ACTIONS['discrete' if discrete else '2x3']
  environment = _adapted(space, action_space)
  observation = environment.reset().observation
  if kind not in _observations(agent):
    with pytest.raises(ValueError) as caught:
      _make(agent, environment)
    assert '\n' not in str(caught.value)
    return
  made, _ = _make(agent, environment)
  if agent not in _ALL_TRACED and (agent, observations) not in _TRACED:
    return
  spec = made.environment_spec.actions
  for action in _trace_policies(agent, made, observation):
    assert action.shape == spec.shape
    assert np.can_cast(action.dtype, spec.dtype, 'same_kind')


@pytest.mark.parametrize(
  'agent',
  [
    pytest.param(agent, marks=[pytest.mark.long] * (agent in _SLOW))
    for agent in agents.AGENTS
    if agent not in _NOT_TRACED
  ],
)
def test_an_agent_learns_from_actions_of_any_shape(agent):
  continuous = 'continuous' in _actions(agent)
  action_space, _ = _ACTIONS['2x3' if continuous else 'one integer']
  environment = _adapted(_OBSERVATIONS['float16'][0], action_space)
  made, zeros = _make(agent, environment)
  config = agents.make_config(agent)
  if agent == 'ppo':
    samples = iter([_zeros_of_the_table(made, config.batch_size)])
  else:
    samples = agents.make_dataset_factory(agent, config, zeros)()

  def step(key):
    made.get_builder().make_learner(
      key,
      made.network_factory(made.environment_spec),
      samples,
      lambda *args, **kwargs: loggers.NoOpLogger(),
      made.environment_spec,
      counter=counting.Counter(),
    ).step()

  jax.eval_shape(step, jax.random.PRNGKey(0))


def _zeros_of_the_table(made, batch_size):
  (table,) = replay_tables.make(made)
  signature = table.info.signature
  items = np.zeros(
    (batch_size, *signature.shape), signature.dtype.as_numpy_dtype
  )
  return reverb.ReplaySample(None, made.builder.layout.unpack(items))


@pytest.mark.parametrize('agent', [a for a in agents.AGENTS if a != 'bc'])
def test_the_default_settings_make_tables(agent):
  continuous = 'continuous' in _actions(agent)
  action_space, _ = _ACTIONS['1x1' if continuous else 'discrete']
  made, _ = _make(agent, _adapted(_OBSERVATIONS['float64'][0], action_space))
  replay_tables.check(made)
