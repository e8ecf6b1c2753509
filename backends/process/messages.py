"""How the launcher and what it started talk: in JSON."""

import json
import os
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

# The exit code of a task that a restart would not help: `EX_DATAERR` of the
# system's sysexits.h. It ends the run, whatever restarts are left.
ENDS_RUN = 65

_MAX_BYTES = 1 << 20
_MAX_DESCRIPTORS = 1


class Order(NamedTuple):
  """What a process is told to be.

  Attributes:
    task: the task's name, `label/index`.
    function_path: the file of the pickled function.
    error_path: the file for the traceback of what the function raised.
    flags: absl flags, as on a command line.
    env: environment variables; None unsets.
    interface: the address that its servers are to listen on; empty for all.
    ports: what listens on these is to hear this machine alone.
  """

  task: str
  function_path: str
  error_path: str
  flags: Sequence[str]
  env: dict[str, str | None]
  interface: str = ''
  ports: Sequence[int] = ()


class Channel:
  """One end of a conversation on one machine: one JSON a packet."""

  def __init__(self, descriptor: int):
    """Takes over one end of a `socket_pair`, by its file descriptor."""
    self._socket = socket.socket(fileno=descriptor)

  def fileno(self) -> int:
    return self._socket.fileno()

  def send(
    self, message: dict[str, Any], descriptors: Sequence[int] = ()
  ) -> None:
    """Sends a message, and file descriptors with it.

    Args:
      message: anything that JSON takes, up to some 100 KB.
      descriptors: at most one.

    Raises:
      OSError: the other end is gone.
    """
    data = json.dumps(message).encode()
    socket.send_fds(self._socket, [data], list(descriptors))

  def receive(self) -> tuple[dict[str, Any] | None, list[int]]:
    """Returns the next message and its descriptors; None if the end is gone."""
    try:
      data, descriptors, _, _ = socket.recv_fds(
        self._socket, _MAX_BYTES, _MAX_DESCRIPTORS
      )
    except ConnectionError:
      return None, []
    return (json.loads(data) if data else None), descriptors

  def close(self) -> None:
    self._socket.close()


def pair() -> tuple[Channel, int]:
  """Returns one end, and the other end's descriptor for a child process."""
  ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
  return Channel(ours.detach()), theirs.detach()


class Stream:
  """One end of a conversation over pipes, or a socket: one JSON a line."""

  def __init__(self, reader: int, writer: int):
    self._reader = reader
    self._writer = writer
    self._rest = b''

  def fileno(self) -> int:
    return self._reader

  def send(self, message: dict[str, Any]) -> None:
    """Sends a message.

    Raises:
      ConnectionError: the other end is gone.
    """
    data = json.dumps(message).encode() + b'\n'
    try:
      while data:
        data = data[os.write(self._writer, data) :]
    except OSError as e:
      raise ConnectionError(f'the other end is gone: {e}') from e

  def receive(self) -> list[dict[str, Any]] | None:
    """Waits for data; returns what messages are whole then, None at the end.

    A connection that breaks, or on which there is anything else, has ended.
    """
    try:
      chunk = os.read(self._reader, _MAX_BYTES)
    except OSError:
      return None
    if not chunk:
      return None
    *lines, self._rest = (self._rest + chunk).split(b'\n')
    try:
      return [json.loads(line) for line in lines]
    except ValueError:
      return None
