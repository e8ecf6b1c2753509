"""Tests the whole graph in one process, without its loops."""

import dataclasses

import numpy as np
import pytest
from acme import specs
from acme.utils import loggers

from programs import distributed, environments, experiment
from programs.agents import sac
from tests import helpers
from tests.programs import stepping


@pytest.fixture(scope='module')
def config():
  environment_factory = environments.make_environment_factory('gym:Pendulum-v1')
  spec = specs.make_environment_spec(environment_factory(0))
  parts = sac.make_parts(
    spec, sac.Config(hidden_layer_sizes=(8,), batch_size=4, min_replay_size=190)
  )
  return experiment.ExperimentConfig(
    builder=parts.builder,
    network_factory=parts.network_factory,
    environment_factory=environment_factory,
    max_num_actor_steps=1000,
    policy_factory=parts.policy_factory,
    eval_policy_factory=parts.eval_policy_factory,
    environment_spec=spec,
    logger_factory=lambda *args, **kwargs: loggers.NoOpLogger(),
    variable_names=parts.variable_names,
  )


@pytest.fixture(scope='module')
def program(config):
  program = distributed.make_program(config, num_actors=2)
  with stepping.launched(program, serialize=True):
    yield program


def test_the_graph_has_every_role(program):
  assert {label: len(nodes) for label, nodes in program.groups.items()} == {
    'replay': 1,
    'variable_server': 1,
    'counter': 1,
    'learner': 1,
    'actor': 2,
    'evaluator': 1,
  }


def test_weights_go_from_learner_to_actor_and_evaluator(program):
  learner = stepping.client(program, 'learner')
  actor = stepping.client(program, 'actor')
  evaluator = stepping.client(program, 'evaluator')
  variables = stepping.client(program, 'variable_server')

  learner.publish()
  first = actor.run_episode()
  assert first['actor_steps'] == 200
  assert first['weights/version'] == 1
  assert (
    stepping.client(program, 'replay')
    .server_info()['priority_table']
    .current_size
    > 100
  )

  learner.step()
  # The publisher pushes in the background.
  helpers.wait_until(lambda: variables.version() > 1, 'the step to be pushed')
  assert variables.version() == 2
  (policy,) = learner.get_variables(['policy'])
  pulled = variables.pull()['policy']
  for module, weights in policy.items():
    for name, value in weights.items():
      np.testing.assert_array_equal(value, pulled[module][name])

  result = evaluator.run_episode()
  assert result['weights/version'] == 2
  counts = stepping.client(program, 'counter').get_counts()
  assert counts['actor_steps'] == 200
  assert counts['evaluator_episodes'] == 1
  assert counts['learner_steps'] == 1


def test_a_program_without_actors_is_refused(config):
  with pytest.raises(ValueError, match='num_actors'):
    distributed.make_program(config, num_actors=0)


def test_an_experiment_without_evaluators_has_no_such_group(config):
  program = distributed.make_program(
    dataclasses.replace(config, evaluator_factories=()), num_actors=1
  )
  assert 'evaluator' not in program.groups
