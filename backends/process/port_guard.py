"""Keeps other machines off the servers of a run on one machine.

Reverb listens on all interfaces, and no option changes that. But a socket that
is bound to the loopback device accepts connections from this machine only. It
can be bound even when it listens already, and any user may bind it. So a thread
of each task looks for the sockets that listen on the task's ports, and binds
them to the loopback device. It also closes the connections that other machines
made before that.
"""

import contextlib
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Collection, Iterator

_LOOPBACK = b'lo\0'
_NAME_BYTES = 16
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_LOOK_SECS = 0.02
# Within these seconds, a server accepts the connections that were made before
# its socket was bound. The thread keeps looking for them.
_SETTLE_SECS = 2.0


def check() -> None:
  """Tries to bind a socket as `watch` does.

  Raises:
    OSError: this machine's kernel does not allow it.
  """
  with socket.create_server(('', 0)) as server:
    _close_to_others(server)


def watch(ports: Collection[int]) -> None:
  """Keeps other machines off this process's servers on these ports.

  It returns at once. A thread guards each port as soon as a server listens on
  it.

  Args:
    ports: the ports' numbers.
  """
  if ports:
    threading.Thread(
      target=_watch, args=[frozenset(ports)], name='ports', daemon=True
    ).start()


def _watch(ports: Collection[int]) -> None:
  settled = float('inf')
  while time.monotonic() < settled:
    if guard(ports) == ports and settled == float('inf'):
      settled = time.monotonic() + _SETTLE_SECS
    time.sleep(_LOOK_SECS)


def guard(ports: Collection[int]) -> set[int]:
  """Guards those of these ports on which a server listens now.

  Args:
    ports: the ports' numbers.

  Returns:
    The ports on which a server listens and that only this machine can reach.
  """
  guarded = set()
  strangers = []
  for sock in _own_sockets():
    if sock.family not in _FAMILIES or sock.type != socket.SOCK_STREAM:
      continue
    host, port, *_ = sock.getsockname()
    if port not in ports:
      continue
    if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
      if not _is_loopback(host):
        _close_to_others(sock)
      guarded.add(port)
    elif _is_from_elsewhere(sock):
      strangers.append(sock.dup())
  # They are closed last: no other machine can connect any more now.
  for sock in strangers:
    with sock, contextlib.suppress(OSError):
      sock.shutdown(socket.SHUT_RDWR)
  return guarded


def _own_sockets() -> Iterator[socket.socket]:
  """Yields a duplicate of each of this process's sockets, then closes it."""
  for name in os.listdir('/proc/self/fd'):
    # Meanwhile the socket may be closed, and another file may get its number.
    with contextlib.suppress(OSError):
      if not os.readlink(f'/proc/self/fd/{name}').startswith('socket:'):
        continue
      with socket.socket(fileno=os.dup(int(name))) as sock:
        yield sock


def _close_to_others(server: socket.socket) -> None:
  bound = server.getsockopt(
    socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _NAME_BYTES
  )
  if bound != _LOOPBACK:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _LOOPBACK)


def _is_from_elsewhere(sock: socket.socket) -> bool:
  try:
    host, *_ = sock.getpeername()
  except OSError:
    return False  # This socket is not connected; it only reserves the port.
  return not _is_loopback(host)


def _is_loopback(host: str) -> bool:
  address = ipaddress.ip_address(host.partition('%')[0])
  return (getattr(address, 'ipv4_mapped', None) or address).is_loopback
