"""Builders, policies and evaluators of both forms get the right arguments."""

import pytest

from programs import builders, experiment


class _Logger:
  pass


class _Released:
  """A builder of dm-acme 0.4.0's form that returns its arguments."""

  def __init__(self, logger_fn=lambda: None):
    self._logger_fn = logger_fn

  def make_replay_tables(self, environment_spec):
    return ['tables', environment_spec]

  def make_dataset_iterator(self, replay_client):
    return ['dataset', replay_client]

  def make_adder(self, replay_client):
    return ['adder', replay_client]

  def make_actor(
    self, random_key, policy_network, adder=None, variable_source=None
  ):
    return ['actor', random_key, policy_network, adder, variable_source]

  def make_learner(
    self, random_key, networks, dataset, replay_client=None, counter=None
  ):
    return [
      'learner',
      random_key,
      networks,
      dataset,
      replay_client,
      counter,
      self._logger_fn(),
    ]


class _Later:
  """A builder of Acme's later form that returns its arguments."""

  def make_actor(
    self, random_key, policy, environment_spec, variable_source=None, adder=None
  ):
    return ['actor', random_key, policy, environment_spec, variable_source]

  def make_policy(self, networks, environment_spec, evaluation=False):
    return ['policy', networks, environment_spec, evaluation]


def test_a_builder_of_the_released_form_gets_the_arguments_that_it_takes():
  builder = builders.adapt(_Released())
  assert builder.make_replay_tables('spec', 'policy') == ['tables', 'spec']
  assert builder.make_dataset_iterator('replay') == ['dataset', 'replay']
  assert builder.make_adder('replay', 'spec', 'policy') == ['adder', 'replay']
  assert builder.make_actor('key', 'policy', 'spec', 'source', 'adder') == [
    'actor',
    'key',
    'policy',
    'adder',
    'source',
  ]


def test_a_released_learner_logs_where_the_experiment_says():
  logger = _Logger()
  asked = []

  def logger_fn(label, steps_key, task_id):
    asked.append((label, steps_key, task_id))
    return logger

  learner = builders.adapt(_Released()).make_learner(
    'key', 'networks', 'dataset', logger_fn, 'spec', 'replay', 'counter'
  )
  assert learner[:6] == [
    'learner',
    'key',
    'networks',
    'dataset',
    'replay',
    'counter',
  ]
  assert learner[6] is logger
  assert asked == [('learner', 'learner_steps', 0)]


def test_a_released_builders_own_logger_is_kept():
  own = _Logger()
  learner = builders.adapt(_Released(lambda: own)).make_learner(
    'key', 'networks', 'dataset', lambda *_: _Logger(), 'spec'
  )
  assert learner[6] is own


def test_a_builder_of_the_later_form_is_used_as_it_is():
  builder = _Later()
  assert builders.adapt(builder) is builder


@pytest.mark.parametrize('builder', [_Released(), _Later()])
def test_evaluators_make_actors_in_either_form(builder):
  make_actor = builders.make_actor_of_either_form(
    builders.adapt(builder), lambda: 'asked spec'
  )
  released_call = make_actor('key', 'policy', 'source')
  later_call = make_actor('key', 'policy', 'given spec', 'source')
  if isinstance(builder, _Released):
    assert released_call == ['actor', 'key', 'policy', None, 'source']
    assert later_call == released_call
  else:
    assert released_call == ['actor', 'key', 'policy', 'asked spec', 'source']
    assert later_call == ['actor', 'key', 'policy', 'given spec', 'source']
  assert make_actor('key', 'policy', variable_source='source') == released_call


def _experiment(**kwargs):
  defaults = {
    'builder': _Released(),
    'network_factory': lambda spec: 'networks',
    'environment_factory': lambda seed: None,
    'max_num_actor_steps': None,
  }
  return experiment.ExperimentConfig(**{**defaults, **kwargs})


def _policy(config, evaluation):
  return config.make_policy('networks', 'spec', evaluation)


def test_policy_factories_of_the_released_form():
  config = _experiment(
    policy_factory=lambda networks: ['explores', networks],
    eval_policy_factory=lambda networks: ['exploits', networks],
  )
  assert _policy(config, False) == ['explores', 'networks']
  assert _policy(config, True) == ['exploits', 'networks']


def test_policy_factory_of_the_later_form():
  config = _experiment(
    policy_factory=lambda networks, environment_spec, evaluation: [
      networks,
      environment_spec,
      evaluation,
    ]
  )
  assert _policy(config, False) == ['networks', 'spec', False]
  assert _policy(config, True) == ['networks', 'spec', True]


def test_a_later_builder_makes_its_own_policy():
  config = _experiment(builder=_Later())
  assert _policy(config, True) == ['policy', 'networks', 'spec', True]


def test_it_is_an_error_if_nothing_makes_a_policy():
  with pytest.raises(ValueError, match='_Released has no make_policy'):
    _policy(_experiment(), False)
