"""Acme's `VariableSource` over a container."""

import threading
import time
import types

from compat import acme_internals

import numpy as np
import pytest
from acme.jax import variable_utils

import container
from tests.container import servers


def make(n):
  return {
    'policy': {'mlp/~/linear': {'w': np.full((2, 2), n, np.float32)}},
    '': np.full(3, -n, np.float32),
  }


@pytest.fixture(name='clients')
def fixture_clients():
  with servers.serving(container.variable_table(make(0))) as address:
    yield [
      container.ReverbVariableContainer(address, leaf_type='jax', timeout=1.0)
      for _ in range(2)
    ]


def test_a_name_gives_its_nest(clients):
  pusher, reader = clients
  source = container.VariableSource(reader)
  pusher.push(make(1))
  policy, root = source.get_variables(['policy', ''])
  assert policy['mlp/~/linear']['w'][0, 0] == 1
  assert root[0] == -1
  assert source.version == 1
  with pytest.raises(KeyError, match="no variables 'critic'.*'policy'"):
    source.get_variables(['critic'])


def test_without_a_newer_version_the_arrays_are_the_very_same(clients):
  pusher, reader = clients
  source = container.VariableSource(reader)
  pusher.push(make(1))
  (first,) = source.get_variables(['policy'])
  (again,) = source.get_variables(['policy'])
  assert first is again
  pusher.push(make(2))
  (second,) = source.get_variables(['policy'])
  assert second['mlp/~/linear']['w'][0, 0] == 2
  assert source.version == 2


def test_check_raises_the_last_failure(clients):
  pusher, reader = clients
  source = container.VariableSource(reader)
  source.check()
  with pytest.raises(TimeoutError):
    source.get_variables(['policy'])
  with pytest.raises(TimeoutError, match='variables'):
    source.check()
  pusher.push(make(1))
  source.get_variables(['policy'])
  source.check()


def test_check_raises_a_failure_of_acmes_thread(clients):
  _, reader = clients
  source = container.VariableSource(reader)
  client = variable_utils.VariableClient(source, 'policy', update_period=1)
  client.update(wait=False)

  def is_raised():
    try:
      source.check()
    except TimeoutError:
      return True
    return False

  servers.poll(is_raised)


def test_a_thread_refreshes_and_its_failure_reaches_the_actor():
  table = container.variable_table(make(0))
  with servers.serving(table) as address:
    pusher, reader = (
      container.ReverbVariableContainer(address, leaf_type='jax', timeout=1.0)
      for _ in range(2)
    )
    source = container.VariableSource(reader, refresh_seconds=0.01)
    pusher.push(make(1))
    assert source.get_variables([''])[0][0] == -1
    pusher.push(make(2))
    servers.poll(lambda: source.version == 2)
    assert source.get_variables([''])[0][0] == -2
    pusher.close()
  found = []

  def has_failed():
    try:
      source.get_variables([''])
    except ConnectionError as error:
      found.append(error)
    return found

  servers.poll(has_failed)
  assert address in str(found[0])
  with pytest.raises(ConnectionError):
    source.check()
  source.close()


def test_an_actor_fetches_only_news(clients):
  pusher, reader = clients
  source = container.VariableSource(reader, refresh_seconds=0.01)
  pusher.push(make(1))
  client = variable_utils.VariableClient(source, 'policy', device='cpu')
  actor = types.SimpleNamespace(_variable_client=client)
  acme_internals.fetch_only_news(actor, source.has_news)
  params = client.params
  for _ in range(3):
    client.update()
    assert client.params is params
  pusher.push(make(2))
  servers.poll(source.has_news)

  def has_newer():
    client.update()
    return client.params is not params

  servers.poll(has_newer)
  assert not source.has_news()
  source.close()


def test_metrics_say_the_version_in_use_and_its_lag(clients):
  pusher, reader = clients
  source = container.VariableSource(reader)
  assert source.metrics()['weights/version'] == 0
  pusher.push(make(1))
  source.get_variables(['policy'])
  for n in (2, 3, 4):
    pusher.push(make(n))
  reader.version()
  metrics = source.metrics()
  assert metrics['weights/version'] == 1
  assert metrics['weights/lag_versions'] == 3
  assert 0 <= metrics['weights/lag_seconds'] < time.time()
  source.get_variables(['policy'])
  metrics = source.metrics()
  assert metrics['weights/version'] == 4
  assert metrics['weights/lag_versions'] == 0
  assert metrics['weights/versions_skipped'] == 2


def test_closing_ends_a_wait_for_the_first_push():
  with servers.serving(container.variable_table(make(0))) as address:
    reader = container.ReverbVariableContainer(address, timeout=60.0)
    source = container.VariableSource(reader)
    errors = []

    def read():
      try:
        source.get_variables(['policy'])
      except Exception as e:
        errors.append(e)

    thread = threading.Thread(target=read)
    thread.start()
    servers.poll(lambda: reader.metrics()['checks'])
    reader.close()
    thread.join(20.0)
  assert not thread.is_alive()
  assert [type(error) for error in errors] == [container.ClosedError]
  assert '\n' not in str(errors[0])


def test_a_closed_source_has_nothing_newer(clients):
  pusher, reader = clients
  source = container.VariableSource(reader)
  pusher.push(make(1))
  (first,) = source.get_variables(['policy'])
  pusher.push(make(2))
  reader.close()
  (again,) = source.get_variables(['policy'])
  assert again is first
  source.check()
