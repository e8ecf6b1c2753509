"""Versions rise for each reader, whichever process pushes or restarts."""

import numpy as np
import pytest

import container
from container.client import connection as connection_lib
from container.client import versions
from tests.container import servers


def table():
  return container.variable_table({'x': np.int64(0)})


def connect(address, host_cache=False):
  return container.ReverbVariableContainer(
    address, leaf_type='numpy', timeout=20.0, host_cache=host_cache
  )


def read(client):
  version, values = client.snapshot(wait=True)
  return version, int(values['x'])


@pytest.mark.parametrize('host_cache', [False, True])
def test_versions_rise_by_one_and_come_with_their_values(host_cache):
  with servers.serving(table()) as address:
    pusher, reader = (connect(address, host_cache) for _ in range(2))
    assert reader.version() == 0
    assert reader.snapshot() is None
    for n in (1, 2, 3):
      assert pusher.push({'x': n * 10}) == n
      assert reader.version() == n
      assert reader.snapshot(newer_than=n) is None
      assert read(reader) == (n, n * 10)
    pusher.close()
    reader.close()


def test_a_version_that_does_not_rise_is_refused():
  with servers.serving(table()) as address:
    client = connect(address)
    client.push({'x': 1}, version=7)
    with pytest.raises(ValueError, match='Version 7 does not rise.*at 7'):
      client.push({'x': 2}, version=7)
    assert read(client) == (7, 1)
    assert client.push({'x': 3}) == 8


def test_asking_for_a_newer_version_moves_no_payload():
  with servers.serving(table()) as address:
    pusher, reader = connect(address), connect(address)
    pusher.push({'x': 1})
    reader.pull()
    received = reader.metrics()['wire_bytes_received']
    for _ in range(10):
      assert reader.snapshot(newer_than=1) is None
    assert reader.metrics()['wire_bytes_received'] == received


@pytest.mark.parametrize('host_cache', [False, True])
def test_versions_go_on_after_a_server_restarts_empty(host_cache):
  port = servers.free_port()
  with servers.serving(table(), port=port) as address:
    pusher, reader = (connect(address, host_cache) for _ in range(2))
    for n in (1, 2, 3):
      pusher.push({'x': n})
    assert read(reader) == (3, 3)
  with servers.serving(table(), port=port):
    assert reader.snapshot(newer_than=3) is None
    assert pusher.push({'x': 4}) == 4
    assert read(reader) == (4, 4)
    assert connect(address).snapshot().version == 4
  pusher.close()
  reader.close()


def test_a_learner_that_restarts_goes_on_from_the_server():
  with servers.serving(table()) as address:
    reader = connect(address)
    connect(address).push({'x': 1}, version=10)
    assert read(reader) == (10, 1)
    assert connect(address).push({'x': 2}) == 11
    assert read(reader) == (11, 2)


def test_versions_rise_for_a_reader_when_server_and_learner_restart():
  port = servers.free_port()
  with servers.serving(table(), port=port) as address:
    reader = connect(address)
    connect(address).push({'x': 1}, version=100)
    assert read(reader) == (100, 1)
  with servers.serving(table(), port=port):
    learner = connect(address)
    assert learner.push({'x': 2}) == 1
    assert read(reader) == (101, 2)
    learner.push({'x': 3})
    assert reader.snapshot(newer_than=101).version == 102
    assert reader.snapshot(newer_than=102) is None


def test_pushes_of_a_plain_client_are_counted():
  with servers.serving(table()) as address:
    plain = servers.TfAgentsClient(address)
    plain.push({'x': np.int64(5)})
    pusher, reader = connect(address), connect(address)
    assert read(reader) == (1, 5)
    assert pusher.push({'x': 6}) == 2
    assert read(reader) == (2, 6)
    plain.push({'x': np.int64(7)})
    plain.push({'x': np.int64(8)})
    assert read(reader) == (4, 8)
    assert pusher.push({'x': 9}) == 5
    assert read(reader) == (5, 9)
    assert read(connect(address)) == (5, 9)


def test_the_item_of_a_plain_push_is_asked_for_once(monkeypatch):
  asked, sample = [], connection_lib.Connection.sample

  def count(*args):
    asked.append(args)
    return sample(*args)

  monkeypatch.setattr(connection_lib.Connection, 'sample', count)
  with servers.serving(table()) as address:
    plain, reader = servers.TfAgentsClient(address), connect(address)
    for n in (1, 2):
      plain.push({'x': np.int64(n)})
      asked.clear()
      assert [reader.version() for _ in range(5)] == [n] * 5
      assert len(asked) == 1
      assert [read(reader) for _ in range(5)] == [(n, n)] * 5
      assert len(asked) == 2


def test_versions_and_plain_priorities_do_not_mix():
  assert versions.decode(versions.encode(1)) == 1
  assert versions.decode(versions.encode(2**40)) == 2**40
  assert versions.decode(1.0) is None
  assert versions.decode(0.5) is None


def test_a_key_says_which_server_it_is_for():
  keys = {versions.draw_key(b'one') for _ in range(100)}
  assert len(keys) == 100
  assert all(0 <= key < 2**63 for key in keys)
  assert all(versions.is_key_for(key, b'one') for key in keys)
  assert not any(versions.is_key_for(key, b'two') for key in keys)
