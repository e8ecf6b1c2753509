"""What the launcher and its zygote say to each other: one JSON a packet."""

import json
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

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
  """

  task: str
  function_path: str
  error_path: str
  flags: Sequence[str]
  env: dict[str, str | None]


class Channel:
  """One end of the conversation."""

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
