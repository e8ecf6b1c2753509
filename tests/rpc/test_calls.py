"""Calls between tasks behave like Courier's, and need the run's call key."""

import contextlib
import os
import pickle
import socket
import stat
import subprocess
import sys
import threading

import courier
import launchpad as lp
import pytest
from courier.python import client as courier_client

from rpc import client as call_client
from rpc import courier_stand_in, sealed
from rpc import server as call_server
from tests import helpers
from tests.rpc import strangers

_LIVING = 20


class _Server(call_server.Server):
  key = b'of the run'
  interface = '127.0.0.1'


class _Client(call_client.Client):
  key = b'of the run'


@pytest.fixture(params=['of the run', "Courier's"])
def pair(request):
  """A server and the class of its clients: those of `rpc`, and Courier's."""
  ours = request.param == 'of the run'
  server = _Server() if ours else courier.Server()
  make = _Client if ours else courier.Client
  server.Bind('echo', lambda *args, **kwargs: (args, kwargs))
  server.Bind('fail', _fail)
  server.Start()
  yield server, make
  server.Stop()
  server.Join()


def _fail(name):
  raise {'value': ValueError, 'key': KeyError, 'os': OSError}[name]('boom')


@contextlib.contextmanager
def _serving(**functions):
  server = _Server()
  for name, function in functions.items():
    server.Bind(name, function)
  server.Start()
  try:
    yield server
  finally:
    server.Stop()
    server.Join()


def test_calls_behave_like_couriers(pair):
  server, make = pair
  client = pickle.loads(pickle.dumps(make(server.address)))
  assert client.echo(1, None, b='x') == ((1, None), {'b': 'x'})
  assert client.futures.echo([2]).result(_LIVING) == (([2],), {})
  assert sorted(_list(make)(client)) == ['echo', 'fail']
  for name, code in (
    ('value', 'INVALID_ARGUMENT'),
    ('key', 'NOT_FOUND'),
    ('os', 'UNKNOWN'),
  ):
    with pytest.raises(courier_client.StatusNotOk, match='boom') as e:
      client.fail(name)
    assert e.value.code.name == code
  with pytest.raises(courier_client.StatusNotOk, match='nothing not fo') as e:
    client.nothing()
  assert e.value.code.name == 'NOT_FOUND'
  with pytest.raises(courier_client.StatusNotOk) as e:
    client.echo(threading.Lock())
  assert e.value.code.name == 'INVALID_ARGUMENT'
  with pytest.raises(ValueError, match='already started'):
    server.Start()
  server.Unbind('fail')
  assert _list(make)(client) == ['echo']


def _list(make):
  return call_client.list_methods if make is _Client else courier.list_methods


@pytest.mark.parametrize('make', [_Client, courier.Client])
@pytest.mark.parametrize(
  'waits, code', [(True, 'DEADLINE_EXCEEDED'), (False, 'UNAVAILABLE')]
)
def test_without_a_server_a_call_fails_like_couriers(make, waits, code):
  with socket.socket() as closed:
    closed.bind(('127.0.0.1', 0))
    address = f'127.0.0.1:{closed.getsockname()[1]}'
    client = make(address, call_timeout=0.3, wait_for_ready=waits)
    with pytest.raises(courier_client.StatusNotOk) as e:
      client.echo()
  assert e.value.code.name == code


def test_a_call_that_takes_too_long_ends_and_the_next_has_its_own_answer():
  may_end = threading.Event()
  with _serving(wait=may_end.wait, name=lambda: 'name') as server:
    client = _Client(server.address, call_timeout=0.3)
    with pytest.raises(courier_client.StatusNotOk, match="'wait' within 0.3"):
      client.wait()
    assert client.name() == 'name'
    may_end.set()


def test_a_client_outlives_its_server():
  with _serving(name=lambda: 'first') as server:
    client = _Client(server.address, call_timeout=_LIVING)
    assert client.name() == 'first'
  again = _Server(port=server.port)
  again.Bind('name', lambda: 'second')
  again.Start()
  assert client.name() == 'second'
  again.Stop()


def test_the_size_of_the_pool_limits_the_calls_at_a_time():
  both = threading.Barrier(2)
  server = _Server(thread_pool_size=1)
  server.Bind('meet', lambda: both.wait(0.3))
  server.Start()
  client = _Client(server.address)
  met = [client.futures.meet() for _ in range(2)]
  assert all(future.exception(_LIVING) is not None for future in met)
  server.Stop()


def test_a_server_unpickles_nothing_from_a_client_without_the_key(tmp_path):
  path = tmp_path / 'made'
  with _serving(report=lambda x: None) as server:
    strangers.come(str(path), f'127.0.0.1:{server.port}')
    assert not path.exists()
    # From a client with the key, the same call creates the file.
    _Client(server.address).report(strangers.Evil(str(path)))
    assert path.exists()


def test_silent_connections_take_no_thread_and_keep_no_client_out():
  with _serving(name=lambda: 'name') as server, contextlib.ExitStack() as stack:
    before = threading.active_count()
    for _ in range(200):
      stack.enter_context(
        socket.create_connection(('127.0.0.1', server.port), 5)
      )
    assert _Client(server.address, call_timeout=_LIVING).name() == 'name'
    # One thread serves the client with the key.
    assert threading.active_count() <= before + 1
    assert len(server._admission._greetings) <= 64


def test_a_client_may_come_again_after_no_thread_was_left_for_it(monkeypatch):
  start, refused = threading.Thread.start, []

  def refuse_once(thread):
    if thread.name == 'call' and not refused:
      refused.append(thread)
      raise RuntimeError("can't start new thread")
    start(thread)

  with _serving(name=lambda: 'name') as server:
    monkeypatch.setattr(threading.Thread, 'start', refuse_once)
    client = _Client(server.address, call_timeout=_LIVING)
    with pytest.raises(courier_client.StatusNotOk, match='is gone'):
      client.name()
    assert client.name() == 'name'


def test_a_client_unpickles_nothing_from_a_server_without_the_key(tmp_path):
  path = tmp_path / 'made'
  heard = []

  def answer(listener):
    with contextlib.suppress(OSError):
      while True:
        sock, _ = listener.accept()
        with sock:
          sock.sendall(sealed.MAGIC + b'n' * sealed.NONCE_BYTES)
          heard.append(sock.recv(1000))
          data = pickle.dumps((None, strangers.Evil(str(path))))
          sock.sendall(b'c' * 32 + b'\0' * 7 + bytes([len(data)]) + data)

  with socket.create_server(('127.0.0.1', 0)) as listener:
    threading.Thread(target=answer, args=[listener], daemon=True).start()
    address = f'127.0.0.1:{listener.getsockname()[1]}'
    client = _Client(address, call_timeout=0.3)
    with pytest.raises(courier_client.StatusNotOk, match='not of this run'):
      client.name('secret')
    listener.shutdown(socket.SHUT_RDWR)
  assert heard
  assert not any(_Client.key in each or b'secret' in each for each in heard)
  assert not path.exists()


def test_a_message_that_was_changed_or_repeated_is_refused():
  ours, theirs = socket.socketpair()
  wire_in, wire_out = socket.socketpair()
  client = sealed.Connection(ours, b'key', b'client')
  server = sealed.Connection(wire_out, b'key', b'server')
  client.send(b'one')
  message = theirs.recv(100)
  wire_in.sendall(message)
  assert server.receive() == b'one'
  wire_in.sendall(message)
  with pytest.raises(sealed.NotTheRunError):
    server.receive()
  fresh = sealed.Connection(wire_out, b'key', b'server')
  wire_in.sendall(message[:-1] + b'!')
  with pytest.raises(sealed.NotTheRunError):
    fresh.receive()
  for each in ours, theirs, wire_in, wire_out:
    each.close()


def test_only_its_user_can_read_the_key(tmp_path):
  courier_stand_in.make_key(str(tmp_path))
  (path,) = tmp_path.iterdir()
  assert stat.S_IMODE(path.stat().st_mode) == 0o600
  with pytest.raises(FileExistsError):
    courier_stand_in.make_key(str(tmp_path))


class _Node:
  def report(self, *args):
    return args


def _attack(path, node, address):
  """Attacks a node from a task of the run, whose own calls still work."""
  command = [sys.executable, '-m', 'tests.rpc.strangers']
  subprocess.run([*command, path, address.resolve()], check=True, timeout=120)
  print('made' if os.path.exists(path) else 'nothing made', node.report(3))
  lp.stop()


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_a_process_without_the_key_cannot_call_a_node_of_a_run(start, tmp_path):
  program = lp.Program('test')
  node = lp.CourierNode(_Node)
  handle = program.add_node(node, label='node')
  path = str(tmp_path / 'made')
  program.add_node(
    lp.PyNode(_attack, path, handle, node.courier_address), label='stranger'
  )
  result, lines = helpers.run(program, start=start)
  assert result.exit_code == 0, lines.all
  assert lines.of('stranger/0') == ['nothing made (3,)']
