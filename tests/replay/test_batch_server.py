"""Tests of batches that are made in the replay server's process."""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from acme import specs

from replay import batch_server, batches, dataset, sequence_layout
from tests.replay import servers

_SPEC = specs.EnvironmentSpec(
  observations=specs.Array((3,), np.float32),
  actions=specs.Array((2,), np.float32),
  rewards=specs.Array((), np.float32),
  discounts=specs.BoundedArray((), np.float32, 0, 1),
)


@pytest.fixture
def make_path():
  """Makes paths through servers that have the same 30 transitions."""
  made = []

  def make(serves_batches):
    path = servers.PackedPath(_SPEC, 1)
    made.append(path)
    servers.add_episode(path.adder, _SPEC, 30, True, 0)
    if serves_batches:
      batch_server.serve(path.client.server_address, path.server.port)
    return path

  yield make
  for path in made:
    path.close()


def _batches(path, size):
  return batches.batches(
    path.client.server_address, servers.TABLE, path.layout, size
  )


@pytest.fixture
def sampled_by_grpc(monkeypatch):
  """Returns the list of the addresses from which this process samples."""
  addresses = []
  by_grpc = dataset.batches

  def spied(address, *args):
    addresses.append(address)
    return by_grpc(address, *args)

  monkeypatch.setattr(dataset, 'batches', spied)
  return addresses


def test_batches_are_those_that_a_learner_elsewhere_gets(make_path):
  here, there = (_batches(make_path(serves), 7) for serves in (True, False))
  for _ in range(3):
    a, b = next(here), next(there)
    servers.assert_same(a.data, b.data)
    # Keys are random.
    servers.assert_same(a.info._replace(key=b.info.key), b.info)


def test_a_socket_of_another_user_is_not_used(
  make_path, sampled_by_grpc, monkeypatch
):
  path = make_path(True)
  user = os.getuid()
  monkeypatch.setattr(os, 'getuid', lambda: user + 1)
  assert len(next(_batches(path, 7)).data.reward) == 7
  # Not `localhost`, by which the server's own process would sample.
  assert sampled_by_grpc == [path.client.server_address]


def test_a_server_whose_socket_another_process_has_can_be_sampled(make_path):
  path = make_path(False)
  address = path.client.server_address
  with socket.socket(socket.AF_UNIX) as taken:
    taken.bind(batch_server.socket_name(address))
    batch_server.serve(address, path.server.port)
    assert len(next(_batches(path, 7)).data.reward) == 7


def test_a_request_that_is_none_does_no_harm(make_path):
  path = make_path(True)
  name = batch_server.socket_name(path.client.server_address)
  for request in (
    b'',
    b'{\n',
    b'GET / HTTP/1.1\r\n\r\n',
    b'[1]\n',
    b'x' * 9999,
  ):
    with socket.socket(socket.AF_UNIX) as stranger:
      stranger.connect(name)
      stranger.sendall(request)
  assert len(next(_batches(path, 7)).data.reward) == 7


def test_a_table_that_does_not_exist_is_an_error(make_path):
  path = make_path(True)
  address = path.client.server_address
  with pytest.raises(ValueError, match='nowhere'):
    next(batches.batches(address, 'nowhere', path.layout, 7))


_SERVER = """
import sys
import compat
import numpy as np
import reverb
import tensorflow as tf
from replay import batch_server
port, value = map(int, sys.argv[1:])
signature = tf.TensorSpec((2, 8), tf.uint8)
batch_server.serve(f'localhost:{port}', port)
server = reverb.Server([
  reverb.Table.queue('numbers', 100, signature=signature)
], port)
client = reverb.Client(f'localhost:{port}')
with client.trajectory_writer(1) as writer:
  for _ in range(20):
    writer.append(np.full((2, 8), value, np.uint8))
    writer.create_item('numbers', 1.0, writer.history[-1])
server.wait()
"""


def test_batches_go_on_when_a_killed_server_is_back():
  with socket.socket() as probe:
    probe.bind(('localhost', 0))
    port = probe.getsockname()[1]

  def start(value):
    command = [sys.executable, '-c', _SERVER, str(port), str(value)]
    return subprocess.Popen(command)

  layout = sequence_layout.SequenceLayout(specs.Array((8,), np.uint8), 2)
  made = batches.batches(f'localhost:{port}', 'numbers', layout, 4)
  process = start(1)
  try:
    assert next(made).data.tolist() == np.full((4, 2, 8), 1).tolist()
    process.kill()
    process.wait()
    process = start(2)
    assert next(made).data.tolist() == np.full((4, 2, 8), 2).tolist()
  finally:
    process.kill()
    process.wait()
