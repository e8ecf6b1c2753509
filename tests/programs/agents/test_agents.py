"""Each agent acts, learns and is evaluated in the one graph."""

import time
from concurrent import futures

import pytest
from acme import specs
from acme.utils import loggers

from programs import agents, distributed, environments, experiment
from tests.backends import helpers
from tests.programs import stepping

_OFF_POLICY = 'hidden_layer_sizes=(8,),batch_size=4,min_replay_size=50'
_PAIRS = [
  ('sac', 'gym:Pendulum-v1', _OFF_POLICY),
  ('td3', 'gym:Pendulum-v1', _OFF_POLICY),
  ('d4pg', 'gym:Pendulum-v1', _OFF_POLICY),
]


def test_every_agent_is_here():
  assert {agent for agent, *_ in _PAIRS} == set(agents.AGENTS)


@pytest.mark.parametrize('agent, env, settings', _PAIRS)
def test_acts_learns_and_is_evaluated(agent, env, settings):
  environment_factory = environments.make_environment_factory(env)
  spec = specs.make_environment_spec(environment_factory(0))
  parts = agents.make_agent(agent, spec, agents.make_config(agent, settings))
  config = experiment.ExperimentConfig(
    **vars(parts),
    environment_factory=environment_factory,
    max_num_actor_steps=None,
    environment_spec=spec,
    logger_factory=lambda *args, **kwargs: loggers.NoOpLogger(),
  )
  program = distributed.make_program(config, num_actors=1)
  with stepping.launched(program, serialize=True):
    learner = stepping.client(program, 'learner')
    actor = stepping.client(program, 'actor')
    learner.publish()
    # Each waits for the other: the actor where replay is full, the learner
    # where it is empty.
    episode, steps = actor.futures.run_episode(), 0
    deadline = time.monotonic() + 100
    while not episode.done():
      assert time.monotonic() < deadline
      step = learner.futures.step()
      futures.wait([episode, step], 100, futures.FIRST_COMPLETED)
      steps += step.done() and step.exception() is None
    assert episode.result()['weights/version'] >= 1
    assert steps > 0
    variables = stepping.client(program, 'variable_server')
    helpers.wait_until(lambda: variables.version() > 1, 'a step to be pushed')
    assert (
      stepping.client(program, 'evaluator').run_episode()['weights/version'] > 1
    )


@pytest.mark.parametrize(
  'agent, env',
  [
    ('sac', 'gym:CartPole-v1'),
    ('td3', 'gym:CartPole-v1'),
    ('d4pg', 'gym:CartPole-v1'),
  ],
)
def test_actions_that_an_agent_cannot_take_are_refused(agent, env):
  environment = environments.make_environment_factory(env)(0)
  spec = specs.make_environment_spec(environment)
  with pytest.raises(ValueError, match=f'{agent} takes'):
    agents.make_agent(agent, spec)
