"""Authenticated connections between processes that share a key.

The server speaks first: it sends the protocol's name and a random number. The
client answers with a random number of its own. Each end sends an HMAC-SHA256 of
both numbers, which proves that it knows the key. The key itself is never sent.
Each later message carries an HMAC whose key belongs to this connection only. So
a third party cannot change, repeat or add a message. Messages are not
encrypted.
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
# Bytes that the server sends first, and bytes of the client's answer.
BANNER_BYTES = len(MAGIC) + NONCE_BYTES
ANSWER_BYTES = NONCE_BYTES + _CODE_BYTES
_HEADER = struct.Struct('!Q')
# Seconds of silence before TCP asks whether the other end is still there.
_PROBE_SECS = 10
# Seconds of silence after which the other end counts as gone. A broken cable
# causes no error by itself.
_SILENT_SECS = 60


class NotTheRunError(ConnectionError):
  """The other end does not know the key."""


class Connection:
  """One end of a connection whose ends have shown that they know the key."""

  def __init__(self, sock: socket.socket, key: bytes, ours: bytes):
    """Takes over a socket.

    Args:
      sock: a connected socket.
      key: the key of this connection alone.
      ours: the role of this end, `b'client'` or `b'server'`.
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
      deadline: the `time.monotonic()` at which to give up; None for never.

    Raises:
      TimeoutError: it was not sent by the deadline.
      OSError: the other end is gone.
    """
    code = self._code(self._ours, self._sent, data)
    self._sent += 1
    head = _HEADER.pack(len(data)) + code
    self._socket.settimeout(_left(deadline))
    # One call sends both, so that the receiver wakes up once.
    sent = self._socket.sendmsg([head, data])
    if sent < len(head):
      self._socket.sendall(head[sent:])
      sent = len(head)
    self._socket.sendall(memoryview(data)[sent - len(head) :])

  def receive(self, deadline: float | None = None) -> bytearray:
    """Waits for the next message and returns it.

    Args:
      deadline: the `time.monotonic()` at which to give up; None for never.

    Raises:
      TimeoutError: no message came by the deadline.
      OSError: the other end is gone, or it did not send this message.
    """
    head = read(self._socket, _HEADER.size + _CODE_BYTES, deadline)
    (size,) = _HEADER.unpack_from(head)
    data = read(self._socket, size, deadline)
    code = self._code(self._theirs, self._received, data)
    if not hmac.compare_digest(code, head[_HEADER.size :]):
      raise NotTheRunError('a message does not come from the other end')
    self._received += 1
    return data

  def is_open(self) -> bool:
    """Returns whether the connection is open, as far as this end knows."""
    self._socket.settimeout(0)
    try:
      # The other end sends nothing without a request.
      self._socket.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
      return True
    except OSError:
      pass
    return False

  def cut(self) -> None:
    """Ends the connection; a thread that waits for a message gets an error."""
    with contextlib.suppress(OSError):
      self._socket.shutdown(socket.SHUT_RDWR)

  def close(self) -> None:
    self._socket.close()

  def _code(self, sender: bytes, number: int, data: bytes) -> bytes:
    code = hmac.new(self._key, sender + _HEADER.pack(number), 'sha256')
    code.update(data)
    return code.digest()


def connect(address: str, key: bytes, deadline: float | None) -> Connection:
  """Connects to a server that knows the key.

  Args:
    address: host and port of the server.
    key: the run's call key.
    deadline: the `time.monotonic()` at which to give up; None for never.

  Raises:
    NotTheRunError: the server does not know the key.
    TimeoutError: it has not proved by the deadline that it knows the key.
    OSError: the server cannot be reached.
  """
  host, _, port = address.rpartition(':')
  sock = socket.create_connection(
    (host.strip('[]'), int(port)), _left(deadline)
  )
  try:
    tune(sock)
    banner = bytes(read(sock, BANNER_BYTES, deadline))
    if not banner.startswith(MAGIC):
      raise NotTheRunError(f'the server at {address} is not of this run')
    theirs, ours = banner[len(MAGIC) :], secrets.token_bytes(NONCE_BYTES)
    sock.settimeout(_left(deadline))
    sock.sendall(ours + _code(key, b'client', theirs, ours))
    shown = bytes(read(sock, _CODE_BYTES, deadline))
    if not hmac.compare_digest(shown, _code(key, b'server', theirs, ours)):
      raise NotTheRunError(f'the server at {address} is not of this run')
  except EOFError as e:
    sock.close()
    raise NotTheRunError(f'the server at {address} hung up') from e
  except BaseException:
    sock.close()
    raise
  return Connection(sock, _code(key, b'session', theirs, ours), b'client')


def accept(
  sock: socket.socket, key: bytes, nonce: bytes, answer: bytes
) -> Connection:
  """Checks the answer of a client, and returns the connection to it.

  Args:
    sock: the client's socket, connected and blocking.
    key: the run's call key.
    nonce: the random number that the client was sent.
    answer: the client's answer, `ANSWER_BYTES` long.

  Raises:
    NotTheRunError: the client does not know the key.
    OSError: the client is gone.
  """
  theirs, shown = answer[:NONCE_BYTES], answer[NONCE_BYTES:]
  if not hmac.compare_digest(shown, _code(key, b'client', nonce, theirs)):
    raise NotTheRunError('a client is not of this run')
  sock.sendall(_code(key, b'server', nonce, theirs))
  return Connection(sock, _code(key, b'session', nonce, theirs), b'server')


def present(addresses: Collection[str], timeout: float) -> set[str]:
  """Returns the addresses at which a server of this protocol listens.

  The caller need not know the key.

  Args:
    addresses: host and port of each server.
    timeout: seconds that the answers may take.
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
  """Reads a number of bytes.

  Args:
    sock: the socket.
    size: the number of bytes.
    deadline: the `time.monotonic()` at which to give up; None for never.

  Raises:
    EOFError: the other end closed the connection before it sent them all.
    TimeoutError: the bytes have not come by the deadline.
    OSError: the connection broke.
  """
  data = bytearray(size)
  view, done = memoryview(data), 0
  sock.settimeout(None)
  while done < size:
    _set_timeout(sock, _left(deadline))
    try:
      # Waits for all bytes at once: each wake-up costs as much as a call.
      count = sock.recv_into(view[done:], size - done, socket.MSG_WAITALL)
    except BlockingIOError:
      raise TimeoutError('timed out') from None
    if not count:
      raise EOFError('the other end has closed the connection')
    done += count
  return data


def _set_timeout(sock: socket.socket, seconds: float | None) -> None:
  """Limits the seconds that one read of a blocking socket may take."""
  whole, rest = divmod(seconds or 0.0, 1.0)
  # For the kernel, 0 would mean no limit.
  micros = max(int(rest * 1e6), 1 if seconds is not None else 0)
  timeval = struct.pack('ll', int(whole), micros)
  sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)


def tune(sock: socket.socket) -> None:
  """Makes a socket send small messages at once, and fail if it falls silent."""
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
