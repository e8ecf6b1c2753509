"""Tests of batches that are made in the replay server's process."""

import socket

import numpy as np
import pytest
import reverb
from acme import specs

from replay import batch_client, batch_server, batches
from tests.replay import servers

_SPEC = specs.EnvironmentSpec(
  observations=specs.Array((3,), np.float32),
  actions=specs.Array((2,), np.float32),
  rewards=specs.Array((), np.float32),
  discounts=specs.BoundedArray((), np.float32, 0, 1),
)


@pytest.fixture
def path():
  made = servers.PackedPath(_SPEC, 1)
  servers.add_episode(made.adder, _SPEC, 30, True, 0)
  yield made
  made.close()


def _serve(path: servers.PackedPath) -> None:
  batch_server.serve(path.client.server_address, path.server.port)


def _batches(path: servers.PackedPath, size: int):
  return batches.batches(
    path.client.server_address, servers.TABLE, path.layout, size
  )


def test_batches_are_those_that_a_learner_elsewhere_gets(path):
  elsewhere = servers.PackedPath(_SPEC, 1)
  servers.add_episode(elsewhere.adder, _SPEC, 30, True, 0)
  _serve(path)
  here, there = _batches(path, 7), _batches(elsewhere, 7)
  for _ in range(3):
    a, b = next(here), next(there)
    servers.assert_same(a.data, b.data)
    servers.assert_same(
      a.info._replace(key=b.info.key), b.info
    )  # Keys are random.
  elsewhere.close()
