"""The launcher's connection to an agent.

The agent is a process that the launcher started, with pipes between, or one
that somebody else started and that has come by itself, over TCP.
"""

import contextlib
import multiprocessing.connection as mp_connection
import os
import queue
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from backends import wire

# Tell a launcher that agents come to it: the port, and the file of the key.
LISTEN, KEY_FILE = 'LAUNCHPAD_LISTEN', 'LAUNCHPAD_KEY_FILE'
# What is not heard of for so long is gone: a broken cable says nothing.
SILENT_SECS = 60
_PROBE_SECS = 10
_GREETING_SECS = 10
_POLL_SECS = 0.2
# What comes of talking to somebody who is no launcher or agent of this run.
_STRANGE = (
  *(OSError, EOFError, ValueError, LookupError, AssertionError),
  mp_connection.AuthenticationError,
)


class NoAgentError(ConnectionError):
  """There is no agent where one should be."""


class Link(Protocol):
  """One agent's connection.

  Attributes:
    host: the address that other nodes reach the agent's node at.
    stream: to the agent.
  """

  host: str
  stream: wire.Stream

  def hang_up(self) -> None:
    """Tells the agent that there is nothing more to come."""

  def end(self, timeout: float) -> str:
    """Waits, then cuts it off; returns how it ended, to follow its name."""


class Started:
  """The pipes of an agent that this process starts."""

  def __init__(self, command: Sequence[str], host: str, stderr: int):
    """Starts it.

    Args:
      command: runs the agent on its node.
      host: the address of that.
      stderr: the file descriptor for what it prints.
    """
    self.host = host
    self._process = subprocess.Popen(
      command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=stderr,
      # What is sent to all of a job's script is for the launcher to handle.
      start_new_session=True,
    )
    self.stream = wire.Stream(
      self._process.stdout.fileno(), self._process.stdin.fileno()
    )

  def hang_up(self) -> None:
    with contextlib.suppress(OSError):
      self._process.stdin.close()

  def end(self, timeout: float) -> str:
    try:
      code = self._process.wait(timeout)
    except subprocess.TimeoutExpired:
      self._process.kill()
      code = self._process.wait()
    return f'has ended{f" with exit code {code}" if code else ""}'


class Joined:
  """The connection with an agent, or an agent's with its launcher."""

  def __init__(self, connected: socket.socket, host: str):
    self.host = host
    self._socket = connected
    self.stream = wire.Stream(connected.fileno(), connected.fileno())

  def hang_up(self) -> None:
    with contextlib.suppress(OSError):
      self._socket.shutdown(socket.SHUT_WR)

  def cut(self) -> None:
    """Ends it at once, for whoever reads from it too."""
    with contextlib.suppress(OSError):
      self._socket.shutdown(socket.SHUT_RDWR)

  def end(self, timeout: float) -> str:
    del timeout  # It has been read to its end, or will never be.
    self.cut()
    return 'is gone'


class Door:
  """Where agents that come by themselves are let in.

  Only those that know the key are, and they hear that the launcher does; both
  by a challenge (HMAC), so that the key does not cross the network.
  """

  def __init__(self, key: bytes, port: int = 0):
    """Opens it on all interfaces.

    Args:
      key: what agents must know.
      port: to listen on; 0 takes any.

    Raises:
      OSError: the port is taken.
    """
    self._key = key
    self._listener = socket.create_server(('', port), backlog=128)
    self._lock = threading.Lock()
    self._waiting: dict[str, queue.Queue[Joined]] = {}
    self._inside: dict[str, Joined] = {}
    self._is_closed = False
    threading.Thread(target=self._listen, name='door', daemon=True).start()

  @property
  def port(self) -> int:
    return self._listener.getsockname()[1]

  def meet(self, name: str, timeout: float) -> Joined:
    """Returns the link of an agent, once there is one of that name.

    Raises:
      NoAgentError: none has come in `timeout` seconds, or the door is closed.
    """
    deadline = time.monotonic() + timeout
    while not self._is_closed and time.monotonic() < deadline:
      with contextlib.suppress(queue.Empty):
        return self._queue(name).get(timeout=_POLL_SECS)
    raise NoAgentError(
      f'No agent for {name} has joined within {timeout:.0f} s. What starts it '
      'says why.'
    )

  def close(self) -> None:
    self._is_closed = True
    with contextlib.suppress(OSError):
      self._listener.shutdown(socket.SHUT_RDWR)
    self._listener.close()

  def _queue(self, name: str) -> 'queue.Queue[Joined]':
    with self._lock:
      return self._waiting.setdefault(name, queue.Queue())

  def _listen(self) -> None:
    while not self._is_closed:
      with contextlib.suppress(OSError):
        client, (host, _) = self._listener.accept()
        # Whoever connects and says nothing holds up nobody else.
        threading.Thread(
          target=self._greet, args=[client, host], daemon=True
        ).start()

  def _greet(self, client: socket.socket, host: str) -> None:
    try:
      _watch_over(client)
      with _challenges(client) as connection:
        mp_connection.deliver_challenge(connection, self._key)
        mp_connection.answer_challenge(connection, self._key)
      link = Joined(client, host)
      (hello,) = link.stream.receive() or [{}]
      name = hello['node']
      _allow_silence(client)
    except _STRANGE:
      client.close()
      return
    with self._lock:
      before = self._inside.get(name)
      self._inside[name] = link
    if before is not None:
      # Its node has another agent now; that it is gone may show only later.
      before.cut()
    self._queue(name).put(link)


def join(address: str, key: bytes, name: str, timeout: float) -> Joined:
  """Goes to a launcher's door; returns the connection to it.

  Args:
    address: host and port of the door.
    key: what it asks for.
    name: of the node.
    timeout: seconds until there must be a launcher that lets this agent in.

  Raises:
    NoAgentError: there is none by then.
  """
  host, _, port = address.rpartition(':')
  deadline = time.monotonic() + timeout
  while True:
    try:
      return _join(host, int(port), key, name)
    except _STRANGE as e:
      error = f'{type(e).__name__}: {e}'
    if time.monotonic() > deadline:
      raise NoAgentError(
        f'{name} was let in by no launcher at {address} within {timeout:.0f} '
        f's: {error}'
      )
    time.sleep(_POLL_SECS)


def _join(host: str, port: int, key: bytes, name: str) -> Joined:
  client = socket.create_connection((host, port), timeout=_GREETING_SECS)
  try:
    _watch_over(client)
    with _challenges(client) as connection:
      mp_connection.answer_challenge(connection, key)
      mp_connection.deliver_challenge(connection, key)
    _allow_silence(client)
  except _STRANGE:
    client.close()
    raise
  link = Joined(client, host)
  link.stream.send({'node': name})
  return link


def _watch_over(client: socket.socket) -> None:
  """Has a connection end when its other end is silent for too long."""
  client.setblocking(True)
  for level, option, value in (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_SECS),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_SECS),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_SECS * 1000),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(_GREETING_SECS)),
  ):
    client.setsockopt(level, option, value)


def _challenges(client: socket.socket) -> mp_connection.Connection:
  return mp_connection.Connection(os.dup(client.fileno()))


def _allow_silence(client: socket.socket) -> None:
  """Ends the deadline of the greeting."""
  client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(0))


def _timeval(seconds: int) -> bytes:
  return struct.pack('ll', seconds, 0)
