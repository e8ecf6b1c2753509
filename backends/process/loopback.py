"""Addresses of tasks, and the pipe by which tasks ask the launcher to stop."""

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

import launchpad as lp

# The name of an environment variable. In a task, it holds the path of the pipe
# of its node's `StopListener`.
STOP_PATH = 'LAUNCHPAD_STOP_PATH'

# While a task's function is pickled, the addresses in it are added here.
_pickled: list['FixedAddress'] = []


class FixedAddress(lp.AbstractAddressBuilder):
  """An address known before launch. It changes if its task changes nodes."""

  def __init__(self, address: str):
    self._address = address

  def build(self) -> str:
    return self._address

  def move(self, address: str) -> None:
    """Changes the address; functions pickled from now on have the new one."""
    self._address = address

  def __getstate__(self):
    _pickled.append(self)
    return self.__dict__


@contextlib.contextmanager
def noting_addresses() -> Iterator[list[FixedAddress]]:
  """Yields a list. The addresses pickled within the context are added to it."""
  _pickled.clear()
  yield _pickled


class ReservedPorts:
  """Ports of this machine that are reserved for one run.

  A socket holds each port: it is bound to the port but never listens. So the
  kernel does not give the port to another process while the port's server
  restarts, and other programs get other ports. The server itself can still bind
  the port, because gRPC's and Python's servers set SO_REUSEADDR.
  """

  def __init__(
    self,
    host: str = '127.0.0.1',
    interface: str = '127.0.0.1',
  ):
    """Reserves no port yet.

    Args:
      host: the name or IP address at which tasks reach this machine.
      interface: the IP address to which the ports are bound; empty for all
        addresses.
    """
    self._host = host
    self._interface = interface
    self._sockets = []

  def reserve(self) -> FixedAddress:
    """Reserves one more port and returns its address, `host:port`."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((self._interface, 0))
    self._sockets.append(holder)
    return FixedAddress(f'{self._host}:{holder.getsockname()[1]}')

  def close(self) -> None:
    for holder in self._sockets:
      holder.close()
    self._sockets.clear()


class FifoStopper:
  """`lp.stop()` calls it in a task. It asks the launcher to stop the run.

  It writes into a named pipe in the run's private directory. Launchpad itself
  sends a signal to the launcher's pid, but this pid may belong to another
  process by then.
  """

  def __init__(self, path: str):
    self._path = path

  def __call__(self, mark_as_completed: bool = False) -> None:
    # Launchpad passes it. Its local launchers ignore it too.
    del mark_as_completed
    try:
      pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as e:
      if e.errno in (errno.ENXIO, errno.ENOENT):
        return  # The launcher is gone, so the program is ending already.
      raise
    try:
      os.write(pipe, b's')
    finally:
      os.close(pipe)


class NodeStopper:
  """Like `FifoStopper`, in a run on several nodes: asks the node's daemon."""

  def __call__(self, mark_as_completed: bool = False) -> None:
    FifoStopper(os.environ[STOP_PATH])(mark_as_completed)


class StopListener:
  """The end of the pipe that the launcher, or a node's daemon, reads."""

  def __init__(self, path: str):
    os.mkfifo(path, 0o600)
    # Also open for writing: a pipe without writers reads as closed.
    self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    self.stopper = FifoStopper(path)

  def fileno(self) -> int:
    return self._pipe

  def clear(self) -> None:
    """Drops the requests received so far."""
    os.read(self._pipe, 4096)

  def close(self) -> None:
    os.close(self._pipe)
