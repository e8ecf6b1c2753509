"""Lets a client in once it has proved that it knows the run's call key."""

import contextlib
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable

from rpc import sealed

# The most connections that may be open before they have proved that they know
# the key, and the seconds that each of them has for that.
_MAX_GREETINGS = 64
_GREETING_SECS = 5.0
# Seconds to wait for the end of the thread.
_END_SECS = 5.0
_BACKLOG = 128


class Admission:
  """Accepts connections, and passes on those of clients that know the key.

  One thread serves all connections that have not proved this yet. Their number
  and their time are limited.

  Attributes:
    is_closed: whether `close` was called; no client is let in after that.
  """

  def __init__(
    self,
    interface: str,
    port: int,
    key: bytes,
    on_client: Callable[[sealed.Connection], None],
  ):
    """Begins to listen.

    Args:
      interface: the address to listen on; empty for all.
      port: the port to listen on.
      key: the run's call key.
      on_client: called with the connection of each client that is let in.

    Raises:
      OSError: the port is taken.
    """
    self._key = key
    self._on_client = on_client
    self._listener = _listen(interface, port)
    self._listener.setblocking(False)
    self._selector = selectors.DefaultSelector()
    self._selector.register(self._listener, selectors.EVENT_READ)
    # By connection, the oldest first.
    self._greetings: dict[socket.socket, _Greeting] = {}
    self.is_closed = False
    self._thread = threading.Thread(
      target=self._run, name='admission', daemon=True
    )
    self._thread.start()

  def close(self) -> None:
    """Lets no client in any more."""
    self.is_closed = True
    with contextlib.suppress(OSError):
      self._listener.shutdown(socket.SHUT_RDWR)
    self.join()

  def join(self) -> None:
    """Waits for the end of the thread, for a few seconds at most."""
    self._thread.join(_END_SECS)

  def _run(self) -> None:
    while not self.is_closed:
      for key, _ in self._selector.select(1.0 if self._greetings else None):
        if key.fileobj is self._listener:
          self._accept()
        else:
          self._hear(key.fileobj)
      now = time.monotonic()
      for sock, greeting in list(self._greetings.items()):
        if now > greeting.deadline:
          self._hang_up(sock)
    for sock in list(self._greetings):
      self._hang_up(sock)
    self._selector.close()
    self._listener.close()

  def _accept(self) -> None:
    try:
      sock, _ = self._listener.accept()
    except OSError:
      # For example, no file descriptor is free until a connection closes.
      time.sleep(0.01)
      return
    if len(self._greetings) == _MAX_GREETINGS:
      self._hang_up(next(iter(self._greetings)))
    greeting = _Greeting()
    self._greetings[sock] = greeting
    sock.setblocking(False)
    self._selector.register(sock, selectors.EVENT_READ)
    try:
      sock.send(sealed.MAGIC + greeting.nonce)
    except OSError:
      self._hang_up(sock)

  def _hear(self, sock: socket.socket) -> None:
    greeting = self._greetings.get(sock)
    if greeting is None:
      return  # It was closed since the selector returned.
    try:
      data = sock.recv(sealed.ANSWER_BYTES - len(greeting.answer))
    except BlockingIOError:
      return
    except OSError:
      data = b''
    greeting.answer += data
    if not data:
      self._hang_up(sock)
    elif len(greeting.answer) == sealed.ANSWER_BYTES:
      self._selector.unregister(sock)
      del self._greetings[sock]
      self._let_in(sock, greeting)

  def _let_in(self, sock: socket.socket, greeting: '_Greeting') -> None:
    try:
      sock.setblocking(True)
      sealed.tune(sock)
      self._on_client(
        sealed.accept(sock, self._key, greeting.nonce, greeting.answer)
      )
    # RuntimeError: no more threads can be started. The client may try again.
    except (OSError, RuntimeError):
      sock.close()

  def _hang_up(self, sock: socket.socket) -> None:
    self._selector.unregister(sock)
    del self._greetings[sock]
    sock.close()


class _Greeting:
  """The state of a connection whose client has not proved its key yet."""

  def __init__(self):
    self.nonce = secrets.token_bytes(sealed.NONCE_BYTES)
    self.answer = b''
    self.deadline = time.monotonic() + _GREETING_SECS


def _listen(interface: str, port: int) -> socket.socket:
  if not interface and socket.has_dualstack_ipv6():
    return socket.create_server(
      ('', port),
      family=socket.AF_INET6,
      dualstack_ipv6=True,
      backlog=_BACKLOG,
    )
  return socket.create_server((interface, port), backlog=_BACKLOG)
