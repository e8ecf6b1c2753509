"""Connections between the launcher and the daemon of a node.

Either the launcher starts the daemon and talks to it by pipes. Or an engine
starts the daemon, which connects to the launcher by TCP: see `door`.
"""

import contextlib
import socket
import subprocess
from collections.abc import Sequence
from typing import Protocol

from backends.process import channels
from system import children

# Environment variables of a launcher that daemons connect to: the port that it
# listens on, and the path of the file with the daemon key.
LISTEN, KEY_FILE = 'LAUNCHPAD_LISTEN', 'LAUNCHPAD_KEY_FILE'
# Seconds of silence after which the other end counts as gone. A cut cable gives
# no other sign.
SILENT_SECS = 60
_PROBE_SECS = 10


class NoDaemonError(ConnectionError):
  """No daemon has connected, or no launcher has let the daemon in."""


class Link(Protocol):
  """The connection with one daemon.

  Attributes:
    host: the address at which other nodes reach the daemon's node.
    stream: carries the messages.
  """

  host: str
  stream: channels.Stream

  def hang_up(self) -> None:
    """Tells the daemon that no more messages come. The daemon then ends."""

  def end(self, timeout: float) -> str:
    """Waits for the daemon's end, and cuts it off after `timeout` seconds.

    Returns:
      How the daemon ended: the rest of a sentence whose subject is the daemon,
      such as `has ended with exit code 1`.
    """


class PipeLink:
  """The pipes of a daemon that this process starts."""

  def __init__(self, command: Sequence[str], host: str, stderr: int):
    """Starts the daemon.

    Args:
      command: the command that runs the daemon on its node.
      host: the address of that node.
      stderr: the file descriptor for what the daemon prints.
    """
    self.host = host
    self._process = subprocess.Popen(
      command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=stderr,
      # A signal that is sent to all processes of a job's script is meant for
      # the launcher alone.
      start_new_session=True,
    )
    self.stream = channels.Stream(
      self._process.stdout.fileno(), self._process.stdin.fileno()
    )

  def hang_up(self) -> None:
    with contextlib.suppress(OSError):
      self._process.stdin.close()

  def end(self, timeout: float) -> str:
    code = children.wait_or_kill(self._process, timeout)
    return f'has ended{f" with exit code {code}" if code else ""}'


class TcpLink:
  """The TCP connection between a launcher and a daemon, seen by either."""

  def __init__(self, connected: socket.socket, host: str):
    """Takes over a socket, and has it close when the other end is silent.

    Args:
      connected: the socket.
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
    self.stream = channels.Stream(connected.fileno(), connected.fileno())

  def hang_up(self) -> None:
    with contextlib.suppress(OSError):
      self._socket.shutdown(socket.SHUT_WR)

  def cut(self) -> None:
    """Ends the connection at once, even while a thread waits for messages."""
    with contextlib.suppress(OSError):
      self._socket.shutdown(socket.SHUT_RDWR)

  def end(self, timeout: float) -> str:
    del timeout  # It need not wait: nobody reads from this link any more.
    self.cut()
    return 'is gone'
