"""The publisher pushes in the background, and no failure is silent."""

import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import container
from tests.container import servers


def table(value=None):
  return container.variable_table(
    {'x': np.zeros(3, np.float32)} if value is None else value
  )


def make(n):
  return {'x': np.full(3, n, np.float32)}


@pytest.fixture(name='client')
def fixture_client():
  with servers.serving(table()) as address:
    client = container.ReverbVariableContainer(
      address, leaf_type='numpy', timeout=20.0, host_cache=False
    )
    yield client
    client.close()


@pytest.fixture(name='gate')
def fixture_gate(client, monkeypatch):
  """Holds every push back until it is set."""
  gate, push = threading.Event(), client.push
  gate.entered = threading.Event()

  def gated(*args, **kwargs):
    gate.entered.set()
    assert gate.wait(20)
    return push(*args, **kwargs)

  monkeypatch.setattr(client, 'push', gated)
  return gate


def test_what_is_published_arrives(client):
  publisher = container.Publisher(client)
  publisher.publish(make(1))
  publisher.flush(20)
  assert client.pull()['x'][0] == 1
  assert publisher.version == 1
  publisher.publish(lambda: make(2))
  publisher.close()
  assert client.pull()['x'][0] == 2
  assert publisher.metrics()['weights/published'] == 2


def test_the_newest_value_wins_and_publishing_never_waits(client, gate):
  publisher = container.Publisher(client)
  publisher.publish(make(1))
  assert gate.entered.wait(20)
  for n in range(2, 12):
    publisher.publish(make(n))  # Would hang if it waited for the push.
  gate.set()
  publisher.flush(20)
  assert client.pull()['x'][0] == 11
  assert client.version() == 2
  assert publisher.metrics()['weights/replaced'] == 9
  publisher.close()


def test_a_change_after_publishing_is_not_pushed(client, gate):
  array = np.full(3, 1, np.float32)
  publisher = container.Publisher(client)
  publisher.publish({'x': array})
  array[:] = 2
  gate.set()
  publisher.flush(20)
  assert client.pull()['x'][0] == 1
  variable = tf.Variable(np.full(3, 3, np.float32))
  gate.clear()
  publisher.publish({'x': variable})
  variable.assign(np.full(3, 4, np.float32))
  gate.set()
  publisher.flush(20)
  assert client.pull()['x'][0] == 3
  publisher.close()


def test_a_learner_may_donate_what_it_published(client, gate):
  step = jax.jit(lambda x: x + 1, donate_argnums=0)
  params = jnp.full(3, 1, jnp.float32)
  publisher = container.Publisher(client)
  publisher.publish({'x': params})
  for _ in range(3):
    params = step(params)
  gate.set()
  publisher.flush(20)
  assert client.pull()['x'][0] == 1
  publisher.close()


def test_values_are_fetched_only_when_a_push_is_due(client):
  fetched = []

  def get(n):
    return lambda: fetched.append(n) or make(n)

  publisher = container.Publisher(client, every_steps=3)
  for n in range(1, 8):
    publisher.publish(get(n))
  publisher.close()
  assert fetched == [3, 6]
  seldom = container.Publisher(client, every_seconds=3600.0)
  for n in range(10, 20):
    seldom.publish(get(n))
  seldom.close()
  assert fetched == [3, 6, 10]


def test_a_failed_push_raises_at_the_next_call(client):
  publisher = container.Publisher(client)
  publisher.publish({'x': np.zeros(4, np.float32)})
  with pytest.raises(tf.errors.InvalidArgumentError, match=r'x: expected'):
    publisher.flush(20)
  publisher.publish({'y': np.zeros(3, np.float32)})
  # Publishing again here might replace the values before they fail.
  servers.poll(lambda: publisher._failure)
  with pytest.raises(tf.errors.InvalidArgumentError, match='y'):
    publisher.publish(make(1))
  publisher.publish(make(5))
  publisher.close()
  assert client.pull()['x'][0] == 5


def test_flush_has_a_deadline(client, gate):
  publisher = container.Publisher(client)
  publisher.publish(make(1))
  with pytest.raises(TimeoutError, match='variables'):
    publisher.flush(0.1)
  gate.set()
  publisher.close()


def test_a_dead_server_stops_no_step_and_is_refilled_when_back():
  port = servers.free_port()
  with servers.serving(table(), port=port) as address:
    client = container.ReverbVariableContainer(
      address, leaf_type='numpy', timeout=30.0
    )
    publisher = container.Publisher(client)
    publisher.publish(make(1))
    publisher.flush(20)
  publisher.publish(make(2))
  publisher.publish(make(3))
  with servers.serving(table(), port=port):
    publisher.flush(20)
    assert client.pull()['x'][0] == 3
  with servers.serving(table(), port=port):
    # Nothing is published, but the lost values come back by themselves.
    reader = container.ReverbVariableContainer(
      address, leaf_type='numpy', timeout=30.0
    )
    assert reader.pull()['x'][0] == 3
    assert publisher.metrics()['weights/refills'] == 1
    publisher.close()


def test_a_restored_learner_goes_on_from_its_version(client):
  publisher = container.Publisher(client, version=41)
  publisher.publish(make(1))
  publisher.flush(20)
  assert publisher.version == client.version() == 42
  publisher.publish(make(2))
  publisher.close()
  assert client.version() == 43


def test_a_learner_restored_to_an_earlier_version_goes_on_above_it(client):
  for n in range(1, 6):
    client.push(make(n))
  fresh = pickle.loads(pickle.dumps(client))  # As in another process.
  publisher = container.Publisher(fresh, version=3)
  publisher.publish(make(9))
  publisher.close()
  assert client.version() == 6
  assert client.pull()['x'][0] == 9
  fresh.close()


def test_arrays_on_several_devices_are_gathered(client):
  devices = jax.devices()
  mesh = jax.sharding.Mesh(np.array(devices), ('x',))
  sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
  publisher = container.Publisher(client)
  publisher.publish({'x': jax.device_put(make(6)['x'], sharding)})
  publisher.close()
  assert client.pull()['x'][0] == 6
