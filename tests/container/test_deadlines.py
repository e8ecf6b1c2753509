"""No call waits for ever, and each error says what it waited for, and where."""

import _thread
import threading
import time

import numpy as np
import pytest

import container
from tests.container import servers


def table():
  return container.variable_table({'x': np.float32(0)})


def connect(address, timeout):
  return container.ReverbVariableContainer(
    address, leaf_type='numpy', timeout=timeout, host_cache=False
  )


def test_a_pull_before_the_first_push_times_out():
  with servers.serving(table()) as address:
    client = connect(address, 0.3)
    with pytest.raises(TimeoutError, match=f'variables.*{address}'):
      client.pull()


def test_a_pull_waits_for_the_first_push():
  with servers.serving(table()) as address:
    client, pusher = connect(address, 20.0), connect(address, 20.0)
    timer = threading.Timer(0.2, pusher.push, [{'x': 3.0}])
    timer.start()
    assert client.pull()['x'] == 3.0
    timer.join()


def test_no_server_is_a_connection_error():
  address = f'127.0.0.1:{servers.free_port()}'
  with pytest.raises(ConnectionError, match=address):
    connect(address, 0.3)


def test_a_client_outlives_its_server():
  port = servers.free_port()
  with servers.serving(table(), port=port) as address:
    client = connect(address, 0.5)
    client.push({'x': 1.0})
  calls = (client.pull, client.version, lambda: client.push({'x': 2.0}))
  for call in calls:
    with pytest.raises(ConnectionError, match=address):
      call()
  with servers.serving(table(), port=port):
    patient = connect(address, 20.0)
    patient.push({'x': 3.0})
    assert client.pull()['x'] == 3.0
    assert client.push({'x': 4.0}) > 2


def test_a_call_rides_out_a_restart():
  port = servers.free_port()
  with servers.serving(table(), port=port) as address:
    client = connect(address, 30.0)
  results = []
  thread = threading.Thread(
    target=lambda: results.append(client.push({'x': 5.0}))
  )
  thread.start()
  with servers.serving(table(), port=port):
    thread.join(30)
    assert results == [1]


def test_ctrl_c_ends_a_wait():
  with servers.serving(table()) as address:
    client = connect(address, 30.0)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
      client.pull()
    assert time.monotonic() - start < 15
    timer.join()
