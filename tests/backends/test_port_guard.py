"""What is guarded of a run on one machine; tests/namespaces has from whom."""

import errno
import socket

import launchpad as lp
import pytest

from backends import port_guard
from tests.backends import helpers

# Asked for with SO_ATTACH_FILTER's number, the kernel gives back the filter.
_SO_GET_FILTER = 26


class _Server:
  """Listens where others reach it, and at a port that is its own affair."""

  def __init__(self, address: lp.Address):
    self._address = address

  def __call__(self):
    _, port = self._address.resolve().split(':')
    for name, number in (('of the run', int(port)), ('its own', 0)):
      with socket.create_server(('', number)) as server:
        found = server.getsockopt(socket.SOL_SOCKET, _SO_GET_FILTER, 64)
        print(name, 'guarded' if found else 'open')


def _program(function_of_address):
  program, address = lp.Program('test'), lp.Address()
  node = lp.PyNode(function_of_address(address))
  node.allocate_address(address)
  program.add_node(node, label='server')
  return program


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_ports_of_the_run_are_guarded_and_others_are_not(start):
  result, lines = helpers.run(_program(_Server), start=start)
  assert result.exit_code == 0
  assert lines.of('server/0') == ['of the run guarded', 'its own open']


def test_a_server_learns_why_it_cannot_listen():
  def listen_twice():
    first = socket.create_server(('127.0.0.1', 0), backlog=1)
    second = socket.socket()
    second.bind(('127.0.0.1', 0))
    second.connect(first.getsockname())
    try:
      second.listen()
    except OSError as e:
      print(errno.errorcode[e.errno])

  result, lines = helpers.run(helpers.program(server=listen_twice))
  assert result.exit_code == 0
  assert lines.of('server/0') == ['EINVAL']


def test_where_it_is_not_allowed_a_run_says_so_and_goes_on(monkeypatch):
  def refuse():
    raise PermissionError(errno.EACCES, 'mprotect: Permission denied')

  monkeypatch.setattr(port_guard, 'check', refuse)
  result, lines = helpers.run(_program(_Server))
  assert result.exit_code == 0
  assert lines.of('server/0') == ['of the run open', 'its own open']
  assert lines.of('launcher/0') == [
    'The servers of this run can be reached from other machines: [Errno 13] '
    'mprotect: Permission denied.'
  ]
