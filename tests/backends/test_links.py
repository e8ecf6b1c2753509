"""The launcher's door: who is let in, and what becomes of who is not."""

import contextlib
import socket

import pytest

from backends import links

_KEY = b'of this run'


@pytest.fixture
def door():
  with contextlib.closing(links.Door(_KEY)) as made:
    yield made


def _address(door):
  return f'127.0.0.1:{door.port}'


def test_an_agent_with_the_key_is_met_by_its_name(door):
  agent = links.join(_address(door), _KEY, 'node1', 10)
  link = door.meet('node1', 10)
  link.stream.send({'do': 'work'})
  assert agent.stream.receive() == [{'do': 'work'}]
  assert link.host == '127.0.0.1'
  link.hang_up()
  assert agent.stream.receive() is None
  agent.hang_up()
  assert link.stream.receive() is None


def test_an_agent_with_another_key_is_not_let_in(door):
  with pytest.raises(links.NoAgentError) as raised:
    links.join(_address(door), b'of another run', 'node1', 0.5)
  assert _address(door) in str(raised.value)
  with pytest.raises(links.NoAgentError, match='No agent for node1'):
    door.meet('node1', 0.5)


def test_a_launcher_without_the_key_is_not_believed():
  with (
    contextlib.closing(links.Door(b'of another run')) as door,
    pytest.raises(links.NoAgentError),
  ):
    links.join(_address(door), _KEY, 'node1', 0.5)


def test_strangers_hold_up_nobody(door):
  silent = socket.create_connection(('127.0.0.1', door.port))
  loud = socket.create_connection(('127.0.0.1', door.port))
  loud.sendall(b'GET / HTTP/1.1\r\n\r\n')
  with contextlib.closing(silent), contextlib.closing(loud):
    links.join(_address(door), _KEY, 'node1', 10)
    assert door.meet('node1', 10).host == '127.0.0.1'


def test_an_agent_takes_the_place_of_one_of_its_name(door):
  first = links.join(_address(door), _KEY, 'node1', 10)
  before = door.meet('node1', 10)
  links.join(_address(door), _KEY, 'node1', 10)
  now = door.meet('node1', 10)
  assert before.stream.receive() is None
  assert first.stream.receive() is None
  with pytest.raises(ConnectionError):
    for _ in range(3):
      before.stream.send({})
  now.stream.send({})


def test_an_agent_that_finds_no_launcher_says_where_it_looked():
  with socket.create_server(('127.0.0.1', 0)) as taken:
    port = taken.getsockname()[1]
  with pytest.raises(links.NoAgentError, match=f'127.0.0.1:{port}'):
    links.join(f'127.0.0.1:{port}', _KEY, 'node1', 0.5)
