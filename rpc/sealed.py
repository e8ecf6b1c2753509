"""Connections between processes that share a key, and hear nobody else.

Whoever listens speaks first: a word that names the protocol, and a number that
nobody has seen. Each end then shows by a code (HMAC-SHA256) of both ends'
numbers that it knows the key, which itself never crosses the network. The codes
of the messages that follow are made with a key of this connection alone, so
that nobody in between can change, repeat or add one. They are not encrypted.
"""

import contextlib
import hashlib
import hmac
import secrets
import selectors
import socket
import struct
import time
from collections.abc import Collection

MAGIC = b'launchpad-rl call 1\n'
NONCE_BYTES = 16
_CODE_BYTES = hashlib.sha256().digest_size
# What the listening end says first, and what it is answered.
BANNER_BYTES = len(MAGIC) + NONCE_BYTES
ANSWER_BYTES = NONCE_BYTES + _CODE_BYTES
_HEADER = struct.Struct('!Q')
_PROBE_SECS = 10
# What is not heard of for so long is gone: a broken cable says nothing.
_SILENT_SECS = 60


class NotTheRunError(ConnectionError):
  """The other end does not know the key."""


class Connection:
  """One end of a connection whose ends have shown that they know the key."""

  def __init__(self, sock: socket.socket, key: bytes, ours: bytes):
    """Takes over a socket.

    Args:
      sock: connected.
      key: of this connection alone.
      ours: `b'client'` or `b'server'`, which this end is.
    """
    self._socket = sock
    self._key = key
    self._ours = ours
    self._theirs = b'server' if ours == b'client' else b'client'
    self._sent = self._received = 0

  def send(self, data: bytes, deadline: float | None = None) -> None:
    """Sends a message.

    Args:
      data: the message.
      deadline: by the monotonic clock; None waits for ever.

    Raises:
      TimeoutError: it has not gone by then.
      OSError: the other end is gone.
    """
    code = self._code(self._ours, self._sent, data)
    self._sent += 1
    head = _HEADER.pack(len(data)) + code
    self._socket.settimeout(_left(deadline))
    # At once: who waits for both wakes up once.
    sent = self._socket.sendmsg([head, data])
    if sent < len(head):
      self._socket.sendall(head[sent:])
      sent = len(head)
    self._socket.sendall(memoryview(data)[sent - len(head) :])

  def receive(self, deadline: float | None = None) -> bytearray:
    """Waits for the next message and returns it.

    Args:
      deadline: by the monotonic clock; None waits for ever.

    Raises:
      TimeoutError: it has not come by then.
      OSError: the other end is gone, or the message is not of its making.
    """
    head = read(self._socket, _HEADER.size + _CODE_BYTES, deadline)
    (size,) = _HEADER.unpack_from(head)
    data = read(self._socket, size, deadline)
    code = self._code(self._theirs, self._received, data)
    if not hmac.compare_digest(code, head[_HEADER.size :]):
      raise NotTheRunError('a message is not of the other end')
    self._received += 1
    return data

  def is_open(self) -> bool:
    """Whether the other end has not closed it, as far as is known here."""
    self._socket.settimeout(0)
    try:
      # Nothing is to come unasked.
      self._socket.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
      return True
    except OSError:
      pass
    return False

  def cut(self) -> None:
    """Ends it, also for whoever reads from it now."""
    with contextlib.suppress(OSError):
      self._socket.shutdown(socket.SHUT_RDWR)

  def close(self) -> None:
    self._socket.close()

  def _code(self, sender: bytes, number: int, data: bytes) -> bytes:
    code = hmac.new(self._key, sender + _HEADER.pack(number), 'sha256')
    code.update(data)
    return code.digest()


def connect(address: str, key: bytes, deadline: float | None) -> Connection:
  """Connects to who listens at an address, if that knows the key.

  Args:
    address: host and port.
    key: what both know.
    deadline: by the monotonic clock; None waits for ever.

  Raises:
    NotTheRunError: it does not.
    TimeoutError: it has not shown that it does by then.
    OSError: it cannot be reached.
  """
  host, _, port = address.rpartition(':')
  sock = socket.create_connection(
    (host.strip('[]'), int(port)), _left(deadline)
  )
  try:
    tune(sock)
    banner = bytes(read(sock, BANNER_BYTES, deadline))
    if not banner.startswith(MAGIC):
      raise NotTheRunError(f'who listens at {address} is not of this run')
    theirs, ours = banner[len(MAGIC) :], secrets.token_bytes(NONCE_BYTES)
    sock.settimeout(_left(deadline))
    sock.sendall(ours + _code(key, b'client', theirs, ours))
    shown = bytes(read(sock, _CODE_BYTES, deadline))
    if not hmac.compare_digest(shown, _code(key, b'server', theirs, ours)):
      raise NotTheRunError(f'who listens at {address} is not of this run')
  except EOFError as e:
    sock.close()
    raise NotTheRunError(f'who listens at {address} hung up') from e
  except BaseException:
    sock.close()
    raise
  return Connection(sock, _code(key, b'session', theirs, ours), b'client')


def accept(
  sock: socket.socket, key: bytes, nonce: bytes, answer: bytes
) -> Connection:
  """Lets one in who has answered the banner.

  Args:
    sock: connected, and blocking.
    key: what both are to know.
    nonce: the number in the banner that it was sent.
    answer: what it answered, `ANSWER_BYTES`.

  Raises:
    NotTheRunError: it does not know the key.
    OSError: it is gone.
  """
  theirs, shown = answer[:NONCE_BYTES], answer[NONCE_BYTES:]
  if not hmac.compare_digest(shown, _code(key, b'client', nonce, theirs)):
    raise NotTheRunError('a client is not of this run')
  sock.sendall(_code(key, b'server', nonce, theirs))
  return Connection(sock, _code(key, b'session', nonce, theirs), b'server')


def present(addresses: Collection[str], timeout: float) -> set[str]:
  """Returns the addresses at which somebody listens who speaks first.

  Nobody who asks this need know a key.

  Args:
    addresses: host and port each.
    timeout: seconds that it may take.
  """
  found = set()
  deadline = time.monotonic() + timeout
  with contextlib.ExitStack() as stack:
    selector = stack.enter_context(selectors.DefaultSelector())
    for address in addresses:
      host, _, port = address.rpartition(':')
      with contextlib.suppress(OSError, ValueError):
        family, kind, *_, place = socket.getaddrinfo(
          host.strip('[]'), int(port), type=socket.SOCK_STREAM
        )[0]
        sock = stack.enter_context(socket.socket(family, kind))
        sock.setblocking(False)
        sock.connect_ex(place)
        selector.register(sock, selectors.EVENT_READ, address)
    while selector.get_map() and (left := deadline - time.monotonic()) > 0:
      for key, _ in selector.select(left):
        with contextlib.suppress(OSError):
          if MAGIC.startswith(key.fileobj.recv(len(MAGIC)) or b'nothing'):
            found.add(key.data)
        selector.unregister(key.fileobj)
  return found


def read(sock: socket.socket, size: int, deadline: float | None) -> bytearray:
  """Reads so many bytes.

  Raises:
    EOFError: there are no more.
    TimeoutError: they have not come by the deadline.
    OSError: the connection broke.
  """
  data = bytearray(size)
  view, done = memoryview(data), 0
  sock.settimeout(None)
  while done < size:
    _set_timeout(sock, _left(deadline))
    try:
      # All of it: each time that this end wakes up costs as much as a call.
      count = sock.recv_into(view[done:], size - done, socket.MSG_WAITALL)
    except BlockingIOError:
      raise TimeoutError('timed out') from None
    if not count:
      raise EOFError('the other end has closed the connection')
    done += count
  return data


def _set_timeout(sock: socket.socket, seconds: float | None) -> None:
  """Bounds what one read of a blocking socket may take."""
  whole, rest = divmod(seconds or 0.0, 1.0)
  # No time at all would be any time.
  micros = max(int(rest * 1e6), 1 if seconds is not None else 0)
  timeval = struct.pack('ll', int(whole), micros)
  sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)


def tune(sock: socket.socket) -> None:
  """Has small messages go at once, and a silent other end count as gone."""
  for level, option, value in (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_SECS),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_SECS),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT_SECS * 1000),
  ):
    sock.setsockopt(level, option, value)


def _code(key: bytes, what: bytes, server: bytes, client: bytes) -> bytes:
  return hmac.digest(key, what + server + client, 'sha256')


def _left(deadline: float | None) -> float | None:
  if deadline is None:
    return None
  left = deadline - time.monotonic()
  if left <= 0:
    raise TimeoutError('timed out')
  return left
