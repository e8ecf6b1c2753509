"""Tests of a learner's batches."""

import time

import numpy as np
import pytest
import reverb
from acme import specs

from nodes import learner
from replay import batches
from tests.replay import servers

_SPEC = specs.EnvironmentSpec(
  observations=specs.Array((3,), np.float32),
  actions=specs.Array((2,), np.float32),
  rewards=specs.Array((), np.float32),
  discounts=specs.BoundedArray((), np.float32, 0, 1),
)
_BATCH = 16


@pytest.fixture
def path():
  made = servers.PackedPath(_SPEC, 1, make_sampler=reverb.selectors.Uniform)
  servers.add_episode(made.adder, _SPEC, 50, True, 0)
  yield made
  made.close()


def _num_sampled(path: servers.PackedPath) -> int:
  info = path.client.server_info()[servers.TABLE]
  return info.rate_limiter_info.sample_stats.completed


def test_a_learner_gets_samples_of_two_batches_ago_at_most(path):
  samples = learner.Samples(
    batches.batches(
      path.client.server_address, servers.TABLE, path.layout, _BATCH
    )
  )
  for step in range(1, 6):
    next(samples)
    time.sleep(0.1)  # Whatever is fetched ahead has been fetched.
    assert _num_sampled(path) <= (step + 2) * _BATCH
  samples.stop()
