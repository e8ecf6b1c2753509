"""Each process closes every environment that it made, exactly once."""

import dataclasses

import compat  # noqa: F401

import pytest
import reverb

import container
from nodes import counter
from programs import processes
from tests.nodes import worker_managers
from tests.policies import kept


class _Environments:
  """Makes environments, and counts how many were made and closed."""

  def __init__(self, factory):
    self._factory = factory
    self.made = 0
    self.closed = 0

  def __call__(self, seed):
    environment = self._factory(seed)
    self.made += 1
    close = environment.close

    def closing():
      self.closed += 1
      close()

    environment.close = closing
    return environment


@pytest.fixture
def stopped():
  """Makes this process look like that of a node that must stop."""
  with worker_managers.in_this_thread() as manager:
    manager.stop()
    yield


@pytest.fixture
def experiment():
  config = kept.make_experiment('sac', 'gym:Pendulum-v1')
  made = _Environments(config.environment_factory)
  return dataclasses.replace(config, environment_factory=made, envs_per_actor=2)


@pytest.fixture
def variables(experiment):
  learner = kept.make_learner(experiment)
  values = {'policy': learner.get_variables(['policy'])[0]}
  server = reverb.Server([container.variable_table(values)])
  client = container.ReverbVariableContainer(
    f'localhost:{server.port}', leaf_type='jax', timeout=30.0
  )
  client.push(values)
  yield client
  server.stop()


@pytest.mark.parametrize('role, number', [('actor', 2), ('evaluator', 1)])
def test_a_process_closes_its_environments_at_a_stop(
  experiment, variables, stopped, role, number
):
  counts = counter.GlobalCounter()
  if role == 'actor':
    replay = reverb.Client('localhost:1')
    worker = processes.actor(experiment, replay, variables, counts, 0)
  else:
    worker = processes.evaluator(experiment, variables, counts, 0)
  worker.run()
  environments = experiment.environment_factory
  assert (environments.made, environments.closed) == (number, number)
