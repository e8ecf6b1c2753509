"""Weights that are not finite reach neither actors nor checkpoints."""

import contextlib

import compat  # noqa: F401

import jax.numpy as jnp
import numpy as np
import pytest
import reverb
from acme import core

import container
from nodes import counter as counter_lib
from nodes import counter_client, learner
from nodes.checks import finite
from nodes.saving import checkpoint
from run_files import metric_names
from tests import helpers

_STEPS = 20


class Diverges(core.Learner):
  """A learner whose weights contain a NaN from the step `bad_from` on."""

  def __init__(self, bad_from):
    self._bad_from = bad_from
    self.steps = 0

  def step(self):
    self.steps += 1

  def _weights(self):
    bad = self.steps >= self._bad_from
    return {'w': jnp.array([1.0, np.nan if bad else self.steps], jnp.float32)}

  def get_variables(self, names):
    return [self._weights() for _ in names]

  def save(self):
    return {'weights': self._weights(), 'steps': self.steps}

  def restore(self, state):
    raise NotImplementedError


@pytest.fixture
def variables():
  table = container.variable_table({'policy': {'w': np.zeros(2, np.float32)}})
  server = reverb.Server([table])
  yield container.ReverbVariableContainer(
    f'localhost:{server.port}', leaf_type='numpy', timeout=30.0
  )
  server.stop()


class Learning:
  """A learner's loop with its watch, publisher and checkpointer.

  A test makes it step by step.
  """

  def __init__(self, variables, path, bad_from, stop):
    parent = counter_lib.GlobalCounter()
    counter = counter_client.Counter(parent, 'learner', time_delta=0.0)
    self.watch = learner.WeightsWatch(counter, stop)
    self.publisher = container.Publisher(variables, accepts=self.watch.accepts)
    self.checkpointer = checkpoint.Checkpointer(
      checkpoint.CheckpointingConfig(str(path), every_seconds=0.0), 'learner'
    )
    self.counter = counter
    self.loop = learner.LearnerLoop(
      Diverges(bad_from),
      ['policy'],
      self.publisher,
      self.checkpointer,
      accepts=self.watch.accepts,
    )

  def step(self):
    self.counter.increment(steps=1)
    self.loop.step()
    self.publisher.flush(30)

  def end(self):
    with contextlib.suppress(finite.NonFiniteError):
      self.publisher.close()
    return self.checkpointer.restore().leaves


def test_a_learner_that_diverges_stops_with_its_last_finite_weights(
  variables, tmp_path
):
  learning = Learning(variables, tmp_path, 3, stop=True)
  learning.step()
  learning.step()
  learning.loop.checkpoint()
  with pytest.raises(finite.NonFiniteError) as error:
    learning.step()
  assert 'learner/0, after step 3' in str(error.value)
  assert "the weight['policy']['w'][1] is nan" in str(error.value)
  # The loop saves once more at its end. That must not raise a second error.
  learning.loop.checkpoint()
  assert learning.end()["['steps']"] == 2
  np.testing.assert_array_equal(variables.pull()['policy']['w'], [1, 2])


def test_a_learner_that_goes_on_publishes_and_saves_only_finite_weights(
  variables, tmp_path
):
  learning = Learning(variables, tmp_path, 3, stop=False)
  for _ in range(_STEPS):
    learning.step()
    learning.loop.checkpoint()
  helpers.wait_until(lambda: variables.version() == 2, 'two versions')
  assert learning.end()["['steps']"] == 2
  np.testing.assert_array_equal(variables.pull()['policy']['w'], [1, 2])
  left_out = learning.watch.metrics()[metric_names.LEFT_OUT]
  assert left_out == 2 * (_STEPS - 2)
