"""Tests that gradient steps taken at once are those taken one by one."""

import compat  # noqa: F401

import jax
import numpy as np
import pytest
import reverb
from acme import specs, types
from acme.utils import counting, loggers

from programs import agents

_SPEC = specs.EnvironmentSpec(
  observations=specs.Array((3,), np.float32),
  actions=specs.BoundedArray((2,), np.float32, -1, 1),
  rewards=specs.Array((), np.float32),
  discounts=specs.BoundedArray((), np.float32, 0, 1),
)
_BATCH, _AT_ONCE = 4, 3


def _batches(size):
  """Yields the same transitions in batches of any size."""
  rng = np.random.default_rng(3)
  values = {
    name: rng.normal(size=(_BATCH * _AT_ONCE, *spec.shape)).astype(np.float32)
    for name, spec in _SPEC._asdict().items()
  }
  for start in range(0, _BATCH * _AT_ONCE, size):
    rows = {name: leaf[start : start + size] for name, leaf in values.items()}
    transitions = types.Transition(
      observation=rows['observations'],
      action=np.tanh(rows['actions']),
      reward=rows['rewards'],
      discount=np.ones(size, np.float32),
      next_observation=rows['observations'] + 1,
      extras=(),
    )
    yield reverb.ReplaySample(None, transitions)


def _learn(agent, at_once, num_calls):
  """Returns the policy after all transitions were learned from."""
  config = agents.make_config(
    agent, f'batch_size={_BATCH},gradient_steps_at_once={at_once}'
  )
  parts = agents.make_parts(agent, _SPEC, config)
  learner = parts.builder.make_learner(
    jax.random.PRNGKey(0),
    parts.network_factory(_SPEC),
    _batches(_BATCH * at_once),
    lambda *args, **kwargs: loggers.NoOpLogger(),
    _SPEC,
    counter=counting.Counter(),
  )
  for _ in range(num_calls):
    learner.step()
  return learner.get_variables(['policy'])


@pytest.mark.parametrize('agent', ['sac', 'td3', 'd4pg'])
def test_steps_at_once_are_steps_one_by_one(agent):
  at_once = _learn(agent, _AT_ONCE, 1)
  one_by_one = _learn(agent, 1, _AT_ONCE)
  jax.tree_util.tree_map(
    lambda a, b: np.testing.assert_allclose(a, b, 1e-4, 1e-6),
    at_once,
    one_by_one,
  )
