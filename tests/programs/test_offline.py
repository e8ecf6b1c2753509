"""The offline program learns from recorded transitions."""

import pytest
from acme.utils import loggers

from programs import agents, environments, experiment, offline
from tests import helpers
from tests.programs import stepping
from tests.programs.data import recordings


@pytest.mark.parametrize(
  'agent, env',
  [
    ('bc', 'gym:Pendulum-v1'),
    ('bc', 'gym:CartPole-v1'),
    ('value_dice', 'gym:Pendulum-v1'),
    ('ail', 'gym:Pendulum-v1'),
    ('sac', 'gym:Pendulum-v1'),
    ('dqn', 'gym:CartPole-v1'),
    ('ddqn', 'gym:CartPole-v1'),
  ],
)
def test_learns_and_is_evaluated(agent, env, tmp_path):
  dataset, _ = recordings.record(tmp_path, env, 2)
  config = agents.make_config(agent, 'hidden_layer_sizes=(8,),batch_size=4')
  parts = agents.make_parts(agent, dataset.environment_spec, config, dataset)
  program = offline.make_program(
    experiment.ExperimentConfig(
      **vars(parts),
      environment_factory=environments.make_environment_factory(env),
      max_num_actor_steps=None,
      environment_spec=dataset.environment_spec,
      logger_factory=lambda *args, **kwargs: loggers.NoOpLogger(),
      dataset_factory=agents.make_dataset_factory(agent, config, dataset),
    )
  )
  with stepping.launched(program, serialize=True):
    learner = stepping.client(program, 'learner')
    learner.step()
    variables = stepping.client(program, 'variable_server')
    helpers.wait_until(lambda: variables.version() == 1, 'a step to be pushed')
    row = stepping.client(program, 'evaluator').run_episode()
    assert row['weights/version'] == 1


def test_an_experiment_without_a_dataset_is_refused():
  config = experiment.ExperimentConfig(None, None, None, None)
  with pytest.raises(ValueError, match='dataset_factory'):
    offline.make_program(config)
