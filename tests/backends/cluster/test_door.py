"""The launcher accepts daemons that know the key, and no other clients."""

import contextlib
import os
import resource
import socket
import threading

import pytest

from backends.cluster import door as door_lib
from backends.cluster import handshake, links
from backends.process import messages

_KEY = b'of this run'


@pytest.fixture
def door():
  with contextlib.closing(door_lib.Door(_KEY)) as made:
    yield made


def _address(door):
  return f'127.0.0.1:{door.port}'


def test_a_daemon_with_the_key_is_met_by_its_name(door):
  daemon = door_lib.join(_address(door), _KEY, 'node1', 10)
  link = door.meet('node1', 10)
  link.stream.send(messages.Reserve())
  assert daemon.stream.receive() == [messages.Reserve()]
  assert link.host == '127.0.0.1'
  link.hang_up()
  assert daemon.stream.receive() is None
  daemon.hang_up()
  assert link.stream.receive() is None


def test_a_daemon_with_another_key_is_not_let_in(door):
  with pytest.raises(links.NoDaemonError) as raised:
    door_lib.join(_address(door), b'of another run', 'node1', 0.5)
  assert _address(door) in str(raised.value)
  with pytest.raises(links.NoDaemonError, match='No daemon for node1'):
    door.meet('node1', 0.5)


def test_a_launcher_without_the_key_is_not_believed():
  with (
    contextlib.closing(door_lib.Door(b'of another run')) as door,
    pytest.raises(links.NoDaemonError),
  ):
    door_lib.join(_address(door), _KEY, 'node1', 0.5)


def _knock(stack, door, host='127.0.0.1'):
  """Connects, from one of this machine's addresses, and says nothing."""
  source = (host, 0)
  client = socket.create_connection(('127.0.0.1', door.port), 10, source)
  return stack.enter_context(contextlib.closing(client))


@pytest.fixture
def many_descriptors():
  soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
  resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_000), hard))
  yield
  resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(('number', 'num_hosts'), [(2000, 1), (400, 50)])
def test_many_silent_connections_take_few_resources_and_keep_no_daemon_out(
  door, many_descriptors, number, num_hosts
):
  threads = threading.active_count()
  before = len(os.listdir('/proc/self/fd'))
  with contextlib.ExitStack() as stack:
    for each in range(number):
      _knock(stack, door, f'127.0.1.{1 + each % num_hosts}')
    daemon = door_lib.join(_address(door), _KEY, 'node1', 10)
    link = door.meet('node1', 10)
    link.stream.send(messages.Reserve())
    assert daemon.stream.receive() == [messages.Reserve()]
    assert len(os.listdir('/proc/self/fd')) - number - before < 150
    assert threading.active_count() == threads


def test_connections_from_one_machine_do_not_close_those_from_another(door):
  with contextlib.ExitStack() as stack:
    slow = _knock(stack, door)
    challenge = slow.recv(handshake.MAX_BYTES)
    for _ in range(200):
      _knock(stack, door, '127.0.1.1')
    slow.sendall(handshake.make_introduction(_KEY, challenge, 'node1'))
    assert door.meet('node1', 10)


def test_a_greeting_that_comes_byte_by_byte_is_cut_off_at_its_deadline(
  monkeypatch,
):
  monkeypatch.setattr(door_lib, '_GREETING_SECS', 0.3)
  with (
    contextlib.ExitStack() as stack,
    contextlib.closing(door_lib.Door(_KEY)) as door,
  ):
    dripping = _knock(stack, door)
    dripping.recv(handshake.MAX_BYTES)
    dripping.settimeout(0.01)
    number_sent, is_there = 0, True
    while is_there and number_sent < handshake.MAX_BYTES // 2:
      try:
        dripping.send(b'x')
        number_sent += 1
        is_there = dripping.recv(1) != b''
      except TimeoutError:
        pass
      except ConnectionError:
        is_there = False
    assert not is_there


@pytest.mark.parametrize(
  'said',
  [
    b'GET / HTTP/1.1\r\n\r\n',
    b'\n',
    b'x' * 5000,
    b'[' * 900 + b'\n',
    b'0 0 node1\n',
    b'\xff\xff \xff\n',
  ],
)
def test_a_connection_that_sends_something_else_is_closed(door, said):
  with contextlib.ExitStack() as stack:
    loud = _knock(stack, door)
    loud.recv(handshake.MAX_BYTES)
    loud.sendall(said)
    with contextlib.suppress(ConnectionResetError):
      assert loud.recv(1) == b''
    door_lib.join(_address(door), _KEY, 'node1', 10)
    assert door.meet('node1', 10).host == '127.0.0.1'


def test_the_greeting_of_a_daemon_does_not_let_another_client_in(door):
  with contextlib.ExitStack() as stack:
    daemon, thief = _knock(stack, door), _knock(stack, door)
    said = handshake.make_introduction(
      _KEY, daemon.recv(handshake.MAX_BYTES), 'node1'
    )
    assert _KEY not in said
    thief.recv(handshake.MAX_BYTES)
    thief.sendall(said)
    assert thief.recv(1) == b''


def test_a_launcher_that_sends_byte_by_byte_does_not_hold_a_daemon_up(
  monkeypatch,
):
  monkeypatch.setattr(door_lib, '_GREETING_SECS', 0.3)
  is_over = threading.Event()

  def drip(listener):
    client, _ = listener.accept()
    with contextlib.suppress(OSError), client:
      while not is_over.wait(0.05):
        client.send(b'x')

  with socket.create_server(('127.0.0.1', 0)) as listener:
    thread = threading.Thread(target=drip, args=[listener])
    thread.start()
    address = f'127.0.0.1:{listener.getsockname()[1]}'
    with pytest.raises(links.NoDaemonError, match=address):
      door_lib.join(address, _KEY, 'node1', 0)
    is_over.set()
    thread.join(10)


def test_a_closed_door_keeps_no_connection(door):
  with contextlib.ExitStack() as stack:
    silent = _knock(stack, door)
    silent.recv(handshake.MAX_BYTES)
    door.close()
    assert silent.recv(1) == b''
    with pytest.raises(links.NoDaemonError):
      door.meet('node1', 1e6)
    with pytest.raises(ConnectionRefusedError):
      _knock(stack, door)


def test_a_daemon_replaces_an_earlier_one_of_its_name(door):
  first = door_lib.join(_address(door), _KEY, 'node1', 10)
  before = door.meet('node1', 10)
  door_lib.join(_address(door), _KEY, 'node1', 10)
  now = door.meet('node1', 10)
  assert before.stream.receive() is None
  assert first.stream.receive() is None
  with pytest.raises(ConnectionError):
    for _ in range(3):
      before.stream.send(messages.Leave())
  now.stream.send(messages.Leave())


def test_a_daemon_that_finds_no_launcher_says_where_it_looked():
  with socket.create_server(('127.0.0.1', 0)) as taken:
    port = taken.getsockname()[1]
  with pytest.raises(links.NoDaemonError, match=f'127.0.0.1:{port}'):
    door_lib.join(f'127.0.0.1:{port}', _KEY, 'node1', 0.5)
