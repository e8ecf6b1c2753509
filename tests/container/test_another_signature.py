"""A server that comes back with another signature is refused by every call."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

import container
from container.client import connection as connection_lib
from tests.container import servers

BEFORE = {'w': np.ones(3, np.float32), 'n': np.int64(1)}
OTHERS = {
  'shape': ({**BEFORE, 'w': np.ones(5, np.float32)}, r'w: was .*\[3\], is .*5'),
  'dtype': ({**BEFORE, 'n': np.int32(1)}, 'n: was int64.*, is int32'),
  'name': ({'v': BEFORE['w'], 'n': BEFORE['n']}, 'w: is gone; v: is new'),
  'more': ({**BEFORE, 'z': np.zeros(1)}, 'z: is new'),
  'list': ([BEFORE['n'], BEFORE['w']], 'is gone'),
}


def connect(address, host_cache=True):
  return container.ReverbVariableContainer(
    address, leaf_type='numpy', timeout=20.0, host_cache=host_cache
  )


def calls(client, values):
  """Returns each call that concerns a table's values, ready to be made."""
  variables = tf.nest.map_structure(tf.Variable, values)
  return (
    client.pull,
    client.snapshot,
    lambda: client.update(variables),
    lambda: client.push(values),
    client.version,
    client.is_empty,
  )


@contextlib.contextmanager
def restarting(values, first=BEFORE):
  """Runs a server; yields its address and a function that restarts it.

  Args:
    values: The values whose signature the server has after the restart.
    first: The values whose signature it has at first.
  """
  port = servers.free_port()
  with contextlib.ExitStack() as stack:
    server = contextlib.ExitStack()
    stack.callback(server.close)
    address = server.enter_context(
      servers.serving(container.variable_table(first), port=port)
    )

    def restart():
      server.close()
      server.enter_context(
        servers.serving(container.variable_table(values), port=port)
      )
      pusher = connect(address)
      stack.callback(pusher.close)
      pusher.push(values)

    yield address, restart


@pytest.mark.parametrize('change', OTHERS)
def test_every_call_says_what_has_changed(change):
  values, words = OTHERS[change]
  with restarting(values) as (address, restart):
    pusher, mapped, plain = (
      connect(address),
      connect(address),
      connect(address, host_cache=False),
    )
    pusher.push(BEFORE)
    mapped.pull()
    plain.pull()
    restart()
    for client in (mapped, plain, pusher):
      # It is the same error for old values and for new ones.
      for callers_values in (BEFORE, values):
        for call in calls(client, callers_values):
          with pytest.raises(ValueError, match=f'{address}.*{words}'):
            call()
    np.testing.assert_array_equal(
      tf.nest.flatten(connect(address).pull())[-1], tf.nest.flatten(values)[-1]
    )


@pytest.mark.parametrize('host_cache', [False, True])
def test_clients_go_on_with_a_server_of_the_same_signature(host_cache):
  with restarting(BEFORE) as (address, restart):
    pusher, reader = (connect(address, host_cache) for _ in range(2))
    pusher.push(BEFORE)
    reader.pull()
    for _ in range(2):
      restart()
      for call in calls(reader, BEFORE):
        call()
      pusher.push({**BEFORE, 'n': np.int64(5)})
      assert reader.pull()['n'] == 5


def test_clients_go_on_once_the_old_signature_is_back():
  with restarting(OTHERS['shape'][0]) as (address, restart):
    reader = connect(address)
    restart()
    with pytest.raises(ValueError, match='was'):
      reader.pull()
    port = int(address.rpartition(':')[2])
  with servers.serving(container.variable_table(BEFORE), port=port):
    connect(address).push(BEFORE)
    assert reader.pull()['n'] == 1


@pytest.mark.parametrize('call', ['insert', 'sample'])
def test_a_restart_between_two_steps_of_a_call_is_noticed(monkeypatch, call):
  values, words = OTHERS['name']
  with restarting(values) as (address, restart):
    connect(address).push(BEFORE)
    client = connect(address, host_cache=False)
    retry, restarts = connection_lib.Connection._retry, iter([restart])

    def restart_first(self, attempt, what):
      if self is client._connection and what != 'its tables':
        next(restarts, lambda: None)()
      return retry(self, attempt, what)

    monkeypatch.setattr(connection_lib.Connection, '_retry', restart_first)
    with pytest.raises(ValueError, match=words):
      client.push(BEFORE) if call == 'insert' else client.pull()
    monkeypatch.undo()
    assert set(connect(address).pull()) == set(values)
