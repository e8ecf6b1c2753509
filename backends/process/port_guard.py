"""Servers of a run on one machine, which hear nobody on another.

Reverb listens on all interfaces and cannot be told otherwise. A socket that is
bound to the loopback device hears that device alone, also if it listens already
when that is done, and any user may do it. So a thread of each task looks for
what listens on the task's ports; whoever came in before is shown out.
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
# For a server to take those that had come before.
_SETTLE_SECS = 2.0


def check() -> None:
  """Tries what `watch` does.

  Raises:
    OSError: this machine does not allow it.
  """
  with socket.create_server(('', 0)) as server:
    _close_to_others(server)


def watch(ports: Collection[int]) -> None:
  """Has what listens on these ports in this process hear this machine alone.

  Returns at once; a thread does it, as soon as each listens.
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
  """Looks through this process's sockets once.

  Returns:
    The ports on which something listens that hears this machine alone.
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
  # Once their server hears no more of their kind.
  for sock in strangers:
    with sock, contextlib.suppress(OSError):
      sock.shutdown(socket.SHUT_RDWR)
  return guarded


def _own_sockets() -> Iterator[socket.socket]:
  """Yields each, for a moment; closing it leaves the process's own open."""
  for name in os.listdir('/proc/self/fd'):
    # It may be closed by now, and something else by the time it is looked at.
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
    return False  # It holds the port, and has no other end.
  return not _is_loopback(host)


def _is_loopback(host: str) -> bool:
  address = ipaddress.ip_address(host.partition('%')[0])
  return (getattr(address, 'ipv4_mapped', None) or address).is_loopback
