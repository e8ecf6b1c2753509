"""Servers of a run on one machine, which hear nobody on another.

Courier and Reverb listen on all interfaces and cannot be told otherwise. A
socket filter on a listening socket, and so on each connection that it accepts,
can; it needs no privilege. But it has to be there before the first packet is,
that is between C++ code's `bind` and its `listen`: here `listen` of the C
library leads to a function of ours, which sets the filter first.

A second socket that listens on each outer address, which the kernel would
prefer, is no way: Courier does not set SO_REUSEPORT, and could not bind then.
"""

import contextlib
import ctypes
import functools
import mmap
import os
import pathlib
import platform
import socket
import struct
from collections.abc import Collection, Iterator

# Holds the path of a file with the ports, in the environment of a run's tasks.
PORTS_PATH = 'LAUNCHPAD_PORTS_PATH'
_SO_ATTACH_FILTER = 26
_SYS_LISTEN = 50
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_LISTEN = ctypes.CFUNCTYPE(
  ctypes.c_int, ctypes.c_int, ctypes.c_int, use_errno=True
)
# movabs rax, ADDRESS; jmp rax.
_JUMP = struct.Struct('=2sQ2s')
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_LOAD_INTERFACE, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_INTERFACE = 0xFFFFF000 + 8  # SKF_AD_OFF + SKF_AD_IFINDEX
_LOOPBACK = 1  # The loopback device's number, always.
_PASS, _DROP = 0xFFFFFFFF, 0
# Code, how many to skip if it is true, and if not, operand.
_FILTER = (
  (_LOAD_INTERFACE, 0, 0, _INTERFACE),
  (_JUMP_IF_EQUAL, 0, 1, _LOOPBACK),
  (_RETURN, 0, 0, _PASS),
  (_RETURN, 0, 0, _DROP),
)
# The C library calls it for as long as the process lives.
_ours = None


def check() -> None:
  """Tries, and undoes, what `install` does.

  Raises:
    OSError: this machine does not allow it.
  """
  if platform.machine() != 'x86_64':
    raise OSError(f'there is no way to do that on {platform.machine()}')
  with socket.socket() as sock:
    _attach_filter(sock)
  with _writable(_address(_libc.listen)):
    pass


def install(ports: Collection[int]) -> None:
  """Has what listens on these ports in this process hear this machine alone.

  Raises:
    OSError: this machine does not allow it.
  """
  global _ours
  _ours = _LISTEN(functools.partial(_listen, frozenset(ports)))
  code = _JUMP.pack(b'\x48\xb8', _address(_ours), b'\xff\xe0')
  address = _address(_libc.listen)
  with _writable(address):
    ctypes.memmove(address, code, len(code))


def install_from_environment() -> None:
  """Does it for the ports in the file at `PORTS_PATH`, if that is set."""
  path = os.environ.get(PORTS_PATH)
  if path is not None:
    install([int(line) for line in pathlib.Path(path).read_text().split()])


def _listen(ports: Collection[int], descriptor: int, backlog: int) -> int:
  """Does what `listen` does, for whom calls it in whatever language."""
  try:
    sock = socket.socket(fileno=descriptor)
    try:
      if sock.family in _FAMILIES and sock.getsockname()[1] in ports:
        _attach_filter(sock)
    finally:
      sock.detach()
  except OSError as e:
    # A server that cannot be guarded does not start.
    ctypes.set_errno(e.errno)
    return -1
  return _libc.syscall(_SYS_LISTEN, descriptor, backlog)


def _attach_filter(sock: socket.socket) -> None:
  code = b''.join(struct.pack('=HBBI', *line) for line in _FILTER)
  buffer = ctypes.create_string_buffer(code)
  program = struct.pack('@HP', len(_FILTER), ctypes.addressof(buffer))
  sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def _address(function: object) -> int:
  return ctypes.cast(function, ctypes.c_void_p).value


@contextlib.contextmanager
def _writable(address: int) -> Iterator[None]:
  """Has code at an address be writable meanwhile."""
  start = address // mmap.PAGESIZE * mmap.PAGESIZE
  size = address + _JUMP.size - start
  code = mmap.PROT_READ | mmap.PROT_EXEC
  _protect(start, size, code | mmap.PROT_WRITE)
  try:
    yield
  finally:
    _protect(start, size, code)


def _protect(start: int, size: int, protection: int) -> None:
  if _libc.mprotect(start, size, protection):
    code = ctypes.get_errno()
    raise OSError(code, f'mprotect: {os.strerror(code)}')
