"""How daemons that the launcher did not start connect to it."""

import contextlib
import dataclasses
import errno
import selectors
import socket
import threading
import time

from backends.cluster import handshake, links

# Seconds that a whole greeting may take, even if its bytes come one by one.
_GREETING_SECS = 10.0
# The largest number of connections that have not shown the key yet: in all, and
# from one host. A daemon shows the key at once.
_MAX_GUESTS = 128
_MAX_GUESTS_OF_HOST = 32
_POLL_SECS = 0.2
_CLOSE_SECS = 5.0
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclasses.dataclass(eq=False)
class _Guest:
  """A connection that has not shown the key yet.

  Attributes:
    client: the connection's socket.
    host: the address at its other end.
    challenge: the challenge that was sent to it.
    deadline: when its greeting must be complete, in seconds of
      `time.monotonic()`.
    received: the bytes that it has sent so far.
  """

  client: socket.socket
  host: str
  challenge: bytes
  deadline: float
  received: bytes = b''


class Door:
  """Accepts connections, and keeps those of daemons that know the key.

  One thread serves all connections. If too many of them have not shown the key
  yet, it closes the oldest of these, so that a daemon always gets in.

  Attributes:
    port: the port that it listens on.
  """

  def __init__(self, key: bytes, port: int = 0):
    """Listens on all interfaces.

    Args:
      key: the daemon key.
      port: the port to listen on; 0 takes any free port.

    Raises:
      OSError: the port is taken.
    """
    self._key = key
    self._listener = socket.create_server(('', port), backlog=128)
    self._listener.setblocking(False)
    self.port = self._listener.getsockname()[1]
    self._selector = selectors.DefaultSelector()
    self._selector.register(self._listener, selectors.EVENT_READ)
    # The oldest comes first.
    self._guests: list[_Guest] = []
    self._arrival = threading.Condition()
    self._waiting: dict[str, links.TcpLink] = {}
    self._inside: dict[str, links.TcpLink] = {}
    self._is_closed = False
    self._thread = threading.Thread(
      target=self._serve, name='door', daemon=True
    )
    self._thread.start()

  def meet(self, name: str, timeout: float) -> links.TcpLink:
    """Waits for the daemon of a node; returns the link to it.

    Args:
      name: name of the node.
      timeout: seconds to wait.

    Raises:
      NoDaemonError: the daemon did not come in time, or the door is closed.
    """
    with self._arrival:
      self._arrival.wait_for(
        lambda: self._is_closed or name in self._waiting, timeout
      )
      if name in self._waiting:
        return self._waiting.pop(name)
    raise links.NoDaemonError(
      f'No daemon for {name} has joined within {timeout:.0f} s. The '
      'engine that starts it says why.'
    )

  def close(self) -> None:
    """Stops listening. Connections that `meet` has returned stay open."""
    with self._arrival:
      self._is_closed = True
      self._arrival.notify_all()
    with contextlib.suppress(OSError):
      # Wakes the thread.
      self._listener.shutdown(socket.SHUT_RDWR)
    self._thread.join(_CLOSE_SECS)

  def _serve(self) -> None:
    while not self._is_closed:
      # Each turn accepts one more connection, and reads from all others.
      for key, _ in self._selector.select(_POLL_SECS):
        if key.data is None:
          self._accept()
        elif key.data in self._guests:
          self._receive(key.data)
      self._close_late_guests()
    self._listener.close()
    while self._guests:
      self._close_guest(self._guests[0])
    self._selector.close()

  def _accept(self) -> None:
    try:
      client, (host, _) = self._listener.accept()
    except OSError as e:
      if e.errno in _NO_ROOM:
        if self._guests:
          self._close_guest(self._guests[0])
        else:
          time.sleep(_POLL_SECS)
      return
    client.setblocking(False)
    challenge = handshake.make_challenge()
    deadline = time.monotonic() + _GREETING_SECS
    guest = _Guest(client, host, challenge, deadline)
    self._guests.append(guest)
    self._selector.register(client, selectors.EVENT_READ, guest)
    try:
      client.send(challenge)
    except OSError:
      self._close_guest(guest)
    same = [each for each in self._guests if each.host == host]
    if len(same) > _MAX_GUESTS_OF_HOST:
      self._close_guest(same[0])
    elif len(self._guests) > _MAX_GUESTS:
      self._close_guest(self._guests[0])

  def _receive(self, guest: _Guest) -> None:
    try:
      data = guest.client.recv(handshake.MAX_BYTES)
      guest.received += data
      if not data or len(guest.received) > handshake.MAX_BYTES:
        raise handshake.StrangerError('it has sent no line')
      if b'\n' not in data:
        return
      welcome = handshake.make_welcome(
        self._key, guest.challenge, guest.received
      )
      name = handshake.name_in(guest.received)
      self._release(guest)
      link = links.TcpLink(guest.client, guest.host)
      guest.client.sendall(welcome)
    except (OSError, ValueError, LookupError):
      self._close_guest(guest)
      return
    with self._arrival:
      before = self._inside.get(name)
      self._inside[name] = self._waiting[name] = link
      self._arrival.notify_all()
    if before is not None:
      # The launcher may notice the loss of a daemon much later than the next
      # one comes.
      before.cut()

  def _close_late_guests(self) -> None:
    now = time.monotonic()
    while self._guests and self._guests[0].deadline < now:
      self._close_guest(self._guests[0])

  def _close_guest(self, guest: _Guest) -> None:
    self._release(guest)
    guest.client.close()

  def _release(self, guest: _Guest) -> None:
    """Forgets a guest; its socket stays open."""
    if guest in self._guests:
      self._guests.remove(guest)
      self._selector.unregister(guest.client)


def join(address: str, key: bytes, name: str, timeout: float) -> links.TcpLink:
  """Connects this daemon to its launcher.

  Args:
    address: host and port that the launcher listens on.
    key: the daemon key.
    name: name of the node.
    timeout: seconds to wait until the launcher has let this daemon in.

  Raises:
    NoDaemonError: no launcher let it in in time.
  """
  host, _, port = address.rpartition(':')
  deadline = time.monotonic() + timeout
  while True:
    try:
      return _join(host, int(port), key, name)
    except (OSError, ValueError) as e:
      error = f'{type(e).__name__}: {e}'
    if time.monotonic() > deadline:
      raise links.NoDaemonError(
        f'No launcher at {address} let {name} in within {timeout:.0f} s: '
        f'{error}'
      )
    time.sleep(_POLL_SECS)


def _join(host: str, port: int, key: bytes, name: str) -> links.TcpLink:
  deadline = time.monotonic() + _GREETING_SECS
  client = socket.create_connection((host, port), timeout=_GREETING_SECS)
  try:
    challenge = _receive_line(client, deadline)
    introduction = handshake.make_introduction(key, challenge, name)
    client.sendall(introduction)
    welcome = _receive_line(client, deadline)
    handshake.check_welcome(key, challenge, introduction, welcome)
    return links.TcpLink(client, host)
  except OSError:
    client.close()
    raise


def _receive_line(client: socket.socket, deadline: float) -> bytes:
  """Returns the next line, and reads nothing beyond it."""
  line = b''
  while not line.endswith(b'\n'):
    client.settimeout(max(deadline - time.monotonic(), 0.001))
    byte = client.recv(1)
    if not byte:
      raise ConnectionError(
        'it has hung up; a launcher with another key does so'
      )
    line += byte
    if len(line) > handshake.MAX_BYTES:
      raise ConnectionError('it is no launcher: its line is too long')
  return line
