"""Connections that carry the messages between a launcher and its processes."""

import os
import socket
from collections.abc import Sequence

from backends.process import messages

_MAX_BYTES = 1 << 20
_MAX_DESCRIPTORS = 1


class Channel:
  """One end of a connection within one machine: one message a packet."""

  def __init__(self, descriptor: int):
    """Takes over one end of a socket pair, by its file descriptor."""
    self._socket = socket.socket(fileno=descriptor)

  def fileno(self) -> int:
    return self._socket.fileno()

  def send(
    self, message: messages.Message, descriptors: Sequence[int] = ()
  ) -> None:
    """Sends a message, and file descriptors with it.

    Args:
      message: the message; some 100 KB at most.
      descriptors: at most one.

    Raises:
      OSError: the other end is gone.
    """
    data = messages.encode(message)
    socket.send_fds(self._socket, [data], list(descriptors))

  def receive(self) -> tuple[messages.Message | None, list[int]]:
    """Waits for the next message.

    Returns:
      The message, None if the other end is gone; and the descriptors that came
      with it.

    Raises:
      MessageError: something came that is no message.
    """
    try:
      data, descriptors, _, _ = socket.recv_fds(
        self._socket, _MAX_BYTES, _MAX_DESCRIPTORS
      )
    except ConnectionError:
      return None, []
    return (messages.decode(data) if data else None), descriptors

  def close(self) -> None:
    self._socket.close()


def pair() -> tuple[Channel, int]:
  """Returns one end, and the other end's descriptor for a child process."""
  ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
  return Channel(ours.detach()), theirs.detach()


class Stream:
  """One end of a connection by pipes, or by TCP: one message a line."""

  def __init__(self, reader: int, writer: int):
    """Uses file descriptors, which the caller closes.

    Args:
      reader: what comes from the other end.
      writer: what goes there; may be the same.
    """
    self._reader = reader
    self._writer = writer
    self._rest = b''

  def fileno(self) -> int:
    return self._reader

  def send(self, message: messages.Message) -> None:
    """Sends a message.

    Raises:
      ConnectionError: the other end is gone.
    """
    data = messages.encode(message) + b'\n'
    try:
      while data:
        data = data[os.write(self._writer, data) :]
    except OSError as e:
      raise ConnectionError(f'the other end is gone: {e}') from e

  def receive(self) -> list[messages.Message] | None:
    """Waits for data.

    Returns:
      The messages that are complete by then; None if the connection has ended.
      It also counts as ended if it breaks, or if something comes that is no
      message.
    """
    try:
      chunk = os.read(self._reader, _MAX_BYTES)
    except OSError:
      return None
    if not chunk:
      return None
    *lines, self._rest = (self._rest + chunk).split(b'\n')
    try:
      return [messages.decode(line) for line in lines]
    except messages.MessageError:
      return None
