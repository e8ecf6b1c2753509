"""The addresses of tasks, and the pipe by which tasks stop the launcher."""

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

import launchpad as lp

# The environment variable of a task that has the path of its node's
# `StopListener`.
STOP_PATH = 'LAUNCHPAD_STOP_PATH'

# Gets the addresses that a task's function holds while that is pickled.
_pickled: list['FixedAddress'] = []


class FixedAddress(lp.AbstractAddressBuilder):
  """An address known before launch, whose task may move to another node."""

  def __init__(self, address: str):
    self._address = address

  def build(self) -> str:
    return self._address

  def move(self, address: str) -> None:
    """Changes the address in what is pickled from now on."""
    self._address = address

  def __getstate__(self):
    _pickled.append(self)
    return self.__dict__


@contextlib.contextmanager
def noting_addresses() -> Iterator[list[FixedAddress]]:
  """Yields a list that gets the addresses which are pickled meanwhile."""
  _pickled.clear()
  yield _pickled


class ReservedPorts:
  """Ports of this machine, kept for one run.

  Each is held by a socket which is bound but never listens. The kernel then
  gives the port to no other process while its server restarts, and programs
  that run beside this one get other ports. Yet the server itself can bind it,
  since gRPC's and Python's servers set SO_REUSEADDR.
  """

  def __init__(
    self,
    host: str = '127.0.0.1',
    interface: str = '127.0.0.1',
  ):
    """Reserves none yet.

    Args:
      host: the address at which tasks reach this machine.
      interface: the address whose ports are taken; empty for all addresses.
    """
    self._host = host
    self._interface = interface
    self._sockets = []

  def reserve(self) -> FixedAddress:
    """Takes one more port and returns its address, `host:port`."""
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
  """What `lp.stop()` calls in a task: asks the launcher of its run to stop it.

  It writes into a named pipe in the run's private directory. Launchpad signals
  the launcher's pid instead, which may belong to another process by then.
  """

  def __init__(self, path: str):
    self._path = path

  def __call__(self, mark_as_completed: bool = False) -> None:
    del mark_as_completed  # Launchpad's signature; it ignores it locally too.
    try:
      pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as e:
      if e.errno in (errno.ENXIO, errno.ENOENT):
        return  # The launcher is gone, and with it the program.
      raise
    try:
      os.write(pipe, b's')
    finally:
      os.close(pipe)


class NodeStopper:
  """What `lp.stop()` calls in a task of several nodes: asks its daemon."""

  def __call__(self, mark_as_completed: bool = False) -> None:
    FifoStopper(os.environ[STOP_PATH])(mark_as_completed)


class StopListener:
  """The reading end of `FifoStopper`: the launcher's, or a node daemon's."""

  def __init__(self, path: str):
    os.mkfifo(path, 0o600)
    # Open for writing too, so that it never reads as closed.
    self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    self.stopper = FifoStopper(path)

  def fileno(self) -> int:
    return self._pipe

  def clear(self) -> None:
    """Drops the requests that came so far."""
    os.read(self._pipe, 4096)

  def close(self) -> None:
    os.close(self._pipe)
