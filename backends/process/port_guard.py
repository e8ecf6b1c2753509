"""Keeps other machines off the servers of a run on one machine.

Reverb listens on all interfaces and cannot be told otherwise. A socket that is
bound to the loopback device hears that device alone, even if it listens already
when it is bound, and any user may bind it. So a thread of each task looks for
the sockets that listen on the task's ports, and binds them. It closes the
connections that other machines have made before.
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
# Seconds in which a server accepts the connections made before it was bound.
_SETTLE_SECS = 2.0


def check() -> None:
  """Tries on one socket what `watch` does.

  Raises:
    OSError: this machine does not allow it.
  """
  with socket.create_server(('', 0)) as server:
    _close_to_others(server)


def watch(ports: Collection[int]) -> None:
  """Has this process's servers on these ports hear this machine alone.

  Returns at once; a thread guards each port as soon as a server listens there.

  Args:
    ports: the ports.
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
  """Guards the servers that listen on these ports now.

  Args:
    ports: the ports.

  Returns:
    The ports on which a server listens that hears this machine alone.
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
  # Last, when no more of them can connect.
  for sock in strangers:
    with sock, contextlib.suppress(OSError):
      sock.shutdown(socket.SHUT_RDWR)
  return guarded


def _own_sockets() -> Iterator[socket.socket]:
  """Yields a copy of each of this process's sockets, and closes the copy."""
  for name in os.listdir('/proc/self/fd'):
    # It may be closed meanwhile, and its number used for another file.
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
    return False  # It only holds the port, and is not connected.
  return not _is_loopback(host)


def _is_loopback(host: str) -> bool:
  address = ipaddress.ip_address(host.partition('%')[0])
  return (getattr(address, 'ipv4_mapped', None) or address).is_loopback
