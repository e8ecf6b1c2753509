"""Which ports of a run are guarded. tests/namespaces connects from outside."""

import errno
import os
import socket
import subprocess
import sys

import launchpad as lp
import pytest

from backends.local import this_machine
from backends.process import port_guard
from tests import helpers

# An ordinary user guards a port, and clients on this machine connect to it.
_AS_SOMEBODY = """
import encodings.idna, os, socket
from backends.process import port_guard
if os.getuid() == 0:
  os.setgroups([]), os.setgid(65534), os.setuid(65534)
port_guard.check()
server = socket.create_server(('', 0))
port = server.getsockname()[1]
before = socket.create_connection(('127.0.0.1', port))
print(port_guard.guard({port}) == {port})
after = socket.create_connection(('127.0.0.1', port))
for client in before, after:
  server.accept()[0].sendall(b'.')
  print(client.recv(1))
"""


class _Server:
  """Listens on the run's port, and on another port that it chooses itself."""

  def __init__(self, address: lp.Address):
    self._address = address

  def __call__(self):
    _, port = self._address.resolve().split(':')
    with (
      socket.create_server(('', int(port))) as server,
      socket.create_server(('', 0)) as own,
    ):
      if os.environ.get('EXPECTED') == 'guarded':
        helpers.wait_until(lambda: _is_guarded(server), 'the guard')
      for name, each in (('of the run', server), ('its own', own)):
        print(name, 'guarded' if _is_guarded(each) else 'open')


def _is_guarded(server):
  device = server.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
  return device == b'lo\0'


def _program():
  program, address = lp.Program('test'), lp.Address()
  node = lp.PyNode(_Server(address))
  node.allocate_address(address)
  program.add_node(node, label='server')
  return program


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_ports_of_the_run_are_guarded_and_others_are_not(start):
  result, lines = helpers.run(
    _program(), start=start, default_env={'EXPECTED': 'guarded'}
  )
  assert result.exit_code == 0
  assert lines.of('server/0') == ['of the run guarded', 'its own open']


def test_an_ordinary_user_may_guard_a_port_and_connect_to_it():
  done = subprocess.run(
    [sys.executable, '-c', _AS_SOMEBODY], capture_output=True, text=True
  )
  assert done.stdout.split() == ['True', "b'.'", "b'.'"], done.stderr


def test_earlier_connections_from_other_machines_are_closed(monkeypatch):
  with socket.create_server(('', 0)) as server:
    port = server.getsockname()[1]
    with socket.create_connection(('127.0.0.1', port)) as client:
      accepted, _ = server.accept()
      monkeypatch.setattr(
        port_guard, '_is_loopback', lambda host: host == '127.0.0.2'
      )
      port_guard.guard({port})
      with accepted:
        assert client.recv(1) == b''


def _refuse():
  raise PermissionError(errno.EPERM, 'Operation not permitted')


def test_if_the_kernel_does_not_allow_the_guard_a_run_says_so_and_goes_on(
  monkeypatch,
):
  monkeypatch.setattr(port_guard, 'check', _refuse)
  result, lines = helpers.run(_program())
  assert result.exit_code == 0
  assert lines.of('server/0') == ['of the run open', 'its own open']
  assert lines.of('launcher/0') == [
    'The run goes on though other machines can reach the ports of its replay '
    'and weights, which this kernel does not let it prevent ([Errno 1] '
    'Operation not permitted); --refuse_open_ports ends it.'
  ]


def test_if_the_kernel_does_not_allow_the_guard_a_run_may_be_refused(
  monkeypatch,
):
  monkeypatch.setattr(port_guard, 'check', _refuse)
  with pytest.raises(this_machine.OpenPortsError, match='did not begin'):
    helpers.run(_program(), refuse_open_ports=True)
