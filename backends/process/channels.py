"""Connections that carry the messages between a launcher and its processes."""

import os
import socket
from collections.abc import Sequence

from backends.process import messages

_MAX_BYTES = 1 << 20
_MAX_DESCRIPTORS = 1


class Channel:
  """One end of a connection within a machine. Each packet is one message."""

  def __init__(self, descriptor: int):
    """Uses one end of a socket pair, and closes it in `close`.

    Args:
      descriptor: the file descriptor of that end.
    """
    self._socket = socket.socket(fileno=descriptor)

  def fileno(self) -> int:
    return self._socket.fileno()

  def send(
    self, message: messages.Message, descriptors: Sequence[int] = ()
  ) -> None:
    """Sends a message, with a file descriptor if there is one.

    Args:
      message: the message. Its JSON must not be larger than about 100 KB.
      descriptors: the file descriptors to send with it; at most one.

    Raises:
      OSError: the other end is gone.
    """
    data = messages.encode(message)
    socket.send_fds(self._socket, [data], list(descriptors))

  def receive(self) -> tuple[messages.Message | None, list[int]]:
    """Waits for the next message.

    Returns:
      The message, or None if the other end is gone; and the file descriptors
      that were sent with it.

    Raises:
      MessageError: the data received is not a message.
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
  """Makes a connection to a child process.

  Returns:
    This process's end; and the file descriptor of the other end, for the child.
  """
  ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
  return Channel(ours.detach()), theirs.detach()


class Stream:
  """One end of a connection by pipes or by TCP. Each line is one message."""

  def __init__(self, reader: int, writer: int):
    """Uses two file descriptors. The caller must close them later.

    Args:
      reader: the file descriptor from which to read.
      writer: the file descriptor to which to write; may equal `reader`.
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
    """Waits for data from the other end.

    Returns:
      The messages that are complete now; None if the connection has ended. It
      also counts as ended if it breaks or if the data is not messages.
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
