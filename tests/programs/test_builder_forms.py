"""Builders, policies and evaluators of both forms of Acme run in a program."""

import pytest
from acme import specs
from acme.agents.jax import sac as acme_sac
from acme.jax.layouts import distributed_layout
from acme.utils import loggers

from programs import builders, distributed, environments, experiment
from programs.agents import sac
from tests.programs import stepping


class _LaterFormBuilder:
  """SAC's builder in Acme's later form."""

  def __init__(self, released: acme_sac.SACBuilder):
    self._released = released

  def make_replay_tables(self, environment_spec, policy):
    assert callable(policy)
    return self._released.make_replay_tables(environment_spec)

  def make_dataset_iterator(self, replay_client):
    return self._released.make_dataset_iterator(replay_client)

  def make_adder(self, replay_client, environment_spec, policy):
    assert isinstance(environment_spec, specs.EnvironmentSpec)
    return self._released.make_adder(replay_client)

  def make_actor(
    self, random_key, policy, environment_spec, variable_source=None, adder=None
  ):
    assert isinstance(environment_spec, specs.EnvironmentSpec)
    return self._released.make_actor(random_key, policy, adder, variable_source)

  def make_learner(
    self,
    random_key,
    networks,
    dataset,
    logger_fn,
    environment_spec,
    replay_client=None,
    counter=None,
  ):
    self._released._logger_fn = lambda: logger_fn('learner', 'learner_steps', 0)
    return self._released.make_learner(
      random_key, networks, dataset, replay_client, counter
    )

  def make_policy(self, networks, environment_spec, evaluation=False):
    return acme_sac.apply_policy_and_sample(networks, eval_mode=evaluation)


_ENVIRONMENT = environments.make_environment_factory('gym:Pendulum-v1')


def _later_form_evaluator(random_key, variable_source, counter, make_actor):
  """Passes the spec to `make_actor`, as evaluators of Acme's later form do."""
  environment = _ENVIRONMENT(0)
  spec = specs.make_environment_spec(environment)
  policy = acme_sac.apply_policy_and_sample(
    acme_sac.make_networks(spec, (8,)), eval_mode=True
  )
  actor = make_actor(random_key, policy, spec, variable_source)
  return distributed_layout.environment_loop.EnvironmentLoop(
    environment, actor, counter, loggers.NoOpLogger()
  )


@pytest.fixture(scope='module', params=['released', 'later'])
def program(request):
  spec = specs.make_environment_spec(_ENVIRONMENT(0))
  settings = sac.Config(
    hidden_layer_sizes=(8,), batch_size=4, min_replay_size=190
  )
  parts = sac.make_parts(spec, settings)
  # Acme's own builder, with its adder and its dataset.
  builder = acme_sac.SACBuilder(sac.make_acme_config(spec, settings))
  policies = {'policy_factory': parts.policy_factory}
  if request.param == 'later':
    builder, policies = _LaterFormBuilder(builder), {}
  config = experiment.ExperimentConfig(
    builder=builder,
    network_factory=parts.network_factory,
    environment_factory=_ENVIRONMENT,
    max_num_actor_steps=None,
    evaluator_factories=[
      # This is Acme's evaluator of the released form.
      distributed_layout.default_evaluator_factory(
        _ENVIRONMENT, parts.network_factory, parts.eval_policy_factory
      ),
      _later_form_evaluator,
    ],
    logger_factory=lambda *args, **kwargs: loggers.NoOpLogger(),
    **policies,
  )
  program = distributed.make_program(config, num_actors=1)
  with stepping.launched(program, serialize=False):
    yield program


def test_acts_learns_and_is_evaluated(program):
  learner = stepping.client(program, 'learner')
  learner.publish()
  assert (
    stepping.client(program, 'actor').run_episode()['episode_length'] == 200
  )
  learner.step()
  for index in range(2):
    result = stepping.client(program, 'evaluator', index).run_episode()
    assert result['episode_length'] == 200
  counts = stepping.client(program, 'counter').get_counts()
  assert counts['actor_steps'] == 200
  assert counts['learner_steps'] == 1


@pytest.mark.parametrize(
  'factory, expected',
  [
    (lambda networks: [networks], ['networks']),
    (lambda n, s, evaluation: [n, s, evaluation], ['networks', 'spec', True]),
    # Acme's PPO has a factory of this form.
    (
      lambda networks, evaluation=False: [networks, evaluation],
      ['networks', True],
    ),
  ],
)
def test_a_policy_factory_gets_what_it_takes(factory, expected):
  policy = builders.call_policy_factory(factory, 'networks', 'spec', True)
  assert policy == expected
