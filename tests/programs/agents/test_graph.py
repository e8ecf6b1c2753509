"""Each agent acts, learns and is evaluated in the one graph, in one process."""

import dataclasses

import pytest

from programs import agents
from tests import helpers
from tests.programs import samples, stepping
from tests.programs.data import recordings

# These episodes are long enough for the learner's first step. They are also
# short enough that replay lets an actor write them before that step.
_PENDULUM = 'hidden_layer_sizes=(8,),batch_size=8,min_replay_size=190'
_CATCH = 'hidden_layer_sizes=(8,),batch_size=8,min_replay_size=31'
_SEQUENCES = 'hidden_layer_sizes=(8,),batch_size=2'
_ON_POLICY = f'{_SEQUENCES},num_minibatches=1'
_GRAPHS = [
  ('sac', 'gym:Pendulum-v1', 1, _PENDULUM),
  ('td3', 'gym:Pendulum-v1', 1, _PENDULUM),
  ('d4pg', 'gym:Pendulum-v1', 1, _PENDULUM),
  ('value_dice', 'gym:Pendulum-v1', 1, _PENDULUM),
  ('ail', 'gym:Pendulum-v1', 1, _PENDULUM),
  ('ppo', 'gym:Pendulum-v1', 1, _ON_POLICY + ',unroll_length=66'),
  ('ppo', 'bsuite:catch/0', 2, _ON_POLICY + ',unroll_length=5'),
  ('dqn', 'bsuite:catch/0', 3, _CATCH),
  ('ddqn', 'bsuite:catch/0', 3, _CATCH),
  ('r2d2', 'bsuite:catch/0', 20, _SEQUENCES + ',min_replay_size=20'),
  ('impala', 'bsuite:catch/0', 2, _SEQUENCES + ',sequence_length=5'),
]
# `test_offline` tests these agents.
_ELSEWHERE = {'bc'}


def test_every_agent_is_here():
  assert {agent for agent, *_ in _GRAPHS} | _ELSEWHERE == {*agents.AGENTS}


@pytest.mark.parametrize('agent, env, num_episodes, config', _GRAPHS)
def test_acts_learns_and_is_evaluated(
  agent, env, num_episodes, config, tmp_path
):
  settings = dataclasses.replace(
    samples.SETTINGS,
    agent=agent,
    env=env,
    config=config,
    num_actors=1,
    num_steps=1000,
  )
  if agents.find(agent).learns_from.needs_demonstrations:
    recordings.record(tmp_path / 'teacher', env, 2)
    settings = dataclasses.replace(
      settings, demonstrations=str(tmp_path / 'teacher')
    )
  with stepping.launched(
    settings.make_program(tmp_path), serialize=True
  ) as program:
    learner = stepping.client(program, 'learner')
    actor = stepping.client(program, 'actor')
    variables = stepping.client(program, 'variable_server')
    learner.publish()
    rows = [actor.run_episode() for _ in range(num_episodes)]
    assert {row['weights/version'] for row in rows} == {1}
    learner.step()
    helpers.wait_until(lambda: variables.version() == 2, 'a step to be pushed')
    evaluator = stepping.client(program, 'evaluator')
    evaluator.evaluate()
    assert evaluator.run_episode()['weights/version'] == 2
    counts = stepping.client(program, 'counter').get_counts()
  assert counts['actor_steps'] == sum(row['episode_length'] for row in rows)
