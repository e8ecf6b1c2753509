"""How tasks of one machine reach each other, and their launcher."""

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

import launchpad as lp

# Holds the path of a node's `StopListener`, in the environment of its tasks.
STOP_PATH = 'LAUNCHPAD_STOP_PATH'


# While a task's function is pickled, gets the addresses that it holds.
_pickled: list['FixedAddress'] = []


class FixedAddress(lp.AbstractAddressBuilder):
  """An address known before launch, whose task may move to another place."""

  def __init__(self, address: str):
    self._address = address

  def build(self) -> str:
    return self._address

  def move(self, address: str) -> None:
    """Has what is pickled from now on know it by another address."""
    self._address = address

  def __getstate__(self):
    _pickled.append(self)
    return self.__dict__


@contextlib.contextmanager
def noting_addresses() -> Iterator[list[FixedAddress]]:
  """Yields a list; it gets the addresses that are pickled meanwhile."""
  _pickled.clear()
  yield _pickled


class ReservedPorts:
  """Ports of this machine, kept for one run.

  Each is held by a socket which is bound but never listens. The kernel then
  gives it to nobody else while its server restarts, and programs that run
  beside this one get other ports; yet the server itself, which like all of
  gRPC's and Python's sets SO_REUSEADDR, can bind it.
  """

  def __init__(
    self,
    host: str = '127.0.0.1',
    interface: str = '127.0.0.1',
  ):
    """Reserves none yet.

    Args:
      host: what others reach this machine at.
      interface: the address to take ports of; empty for all.
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
  """What `lp.stop()` calls: asks the launcher of this very run to stop it.

  A named pipe in the run's private directory, and not the launcher's pid as
  Launchpad has it: a pid may by then belong to a stranger.
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
  """What `lp.stop()` calls on one node of several: asks that node's daemon."""

  def __call__(self, mark_as_completed: bool = False) -> None:
    FifoStopper(os.environ[STOP_PATH])(mark_as_completed)


class StopListener:
  """The launcher's end of `FifoStopper`."""

  def __init__(self, path: str):
    os.mkfifo(path, 0o600)
    # Open for writing too, so that it never reads as closed.
    self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    self.stopper = FifoStopper(path)

  def fileno(self) -> int:
    return self._pipe

  def clear(self) -> None:
    """Forgets the requests that came so far."""
    os.read(self._pipe, 4096)

  def close(self) -> None:
    os.close(self._pipe)
