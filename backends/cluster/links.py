"""The launcher's connection to a daemon.

The daemon is a process that the launcher started, with pipes between, or one
that somebody else started and that has come by itself, over TCP: see `door`.
"""

import contextlib
import socket
import subprocess
from collections.abc import Sequence
from typing import Protocol

from backends.process import messages

# Tell a launcher that daemons come to it: the port, and the file of the key.
LISTEN, KEY_FILE = 'LAUNCHPAD_LISTEN', 'LAUNCHPAD_KEY_FILE'
# What is not heard of for so long is gone: a broken cable says nothing.
SILENT_SECS = 60
_PROBE_SECS = 10


class NoDaemonError(ConnectionError):
  """There is no daemon where one should be."""


class Link(Protocol):
  """One daemon's connection.

  Attributes:
    host: the address that other nodes reach the daemon's node at.
    stream: to the daemon.
  """

  host: str
  stream: messages.Stream

  def hang_up(self) -> None:
    """Tells the daemon that there is nothing more to come."""

  def end(self, timeout: float) -> str:
    """Waits, then cuts it off; returns how it ended, to follow its name."""


class PipeLink:
  """The pipes of a daemon that this process starts."""

  def __init__(self, command: Sequence[str], host: str, stderr: int):
    """Starts it.

    Args:
      command: runs the daemon on its node.
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
    self.stream = messages.Stream(
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


class TcpLink:
  """The connection with a daemon, or a daemon's with its launcher."""

  def __init__(self, connected: socket.socket, host: str):
    """Takes over a connection, which ends when the other end is silent.

    Args:
      connected: the connection.
      host: the address at its other end.
    """
    self.host = host
    self._socket = connected
    connected.setblocking(True)
    for level, option, value in (
      (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
      (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_SECS),
      (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_SECS),
      (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_SECS * 1000),
      (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    ):
      connected.setsockopt(level, option, value)
    self.stream = messages.Stream(connected.fileno(), connected.fileno())

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
