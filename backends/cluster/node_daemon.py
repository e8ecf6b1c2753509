"""The process on each node that starts the node's tasks for the launcher.

The launcher, on one of the nodes, tells each node's daemon which tasks to start
and to signal. The daemon tells the launcher what the tasks print and how they
end. The two talk over the daemon's standard input and output, which `srun`
carries, or over TCP; see `join`. When the launcher is gone, the daemon ends,
and so do all processes that it has started.
"""

import contextlib
import dataclasses
import os
import selectors
import signal
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from backends.process import channels, loopback, messages, zygote_client
from system import line_reader, private_folder

_DEVICES = 'CUDA_VISIBLE_DEVICES'


class NodeDaemon:
  """Passes messages on between the launcher and the node's zygote and tasks.

  Attributes:
    is_dismissed: whether the launcher has said that it no longer needs the
      node.
  """

  def __init__(
    self, stream: channels.Stream, setup: messages.NodeSetup, directory: str
  ):
    """Starts the zygote.

    Args:
      stream: carries the messages to and from the launcher.
      setup: the launcher's first message.
      directory: path of a folder for this node's files.
    """
    self._stream = stream
    self._devices = _share_out(os.environ.get(_DEVICES), setup.gpus)
    self._ports = loopback.ReservedPorts(setup.host, interface='')
    stop_path = os.path.join(directory, 'stop')
    self._listener = loopback.StopListener(stop_path)
    self._zygote = zygote_client.ZygoteClient(
      directory,
      setup.preload,
      setup.fork,
      {**setup.env, loopback.STOP_PATH: stop_path},
    )
    self._readers: dict[str, line_reader.LineReader] = {}
    self._ready = False
    self._over = False
    self.is_dismissed = False
    self._selector = selectors.DefaultSelector()
    self._watch(stream, self._on_launcher)
    self._watch(self._listener, self._on_stop)
    self._watch(self._zygote.channel, self._on_zygote)
    self._watch(self._zygote.reader, self._on_zygote_lines)

  def serve(self) -> None:
    """Passes messages on until the launcher or the zygote is gone."""
    while not self._over:
      for key, _ in self._selector.select():
        key.data()

  def close(self) -> None:
    """Ends the zygote with all tasks, and gives the ports back."""
    self._zygote.close(self._ready)
    self._ports.close()
    self._listener.close()

  def _watch(self, readable: Any, callback: Callable[[], None]) -> None:
    self._selector.register(readable, selectors.EVENT_READ, callback)

  def _on_launcher(self) -> None:
    received = self._stream.receive()
    if received is None:
      self._over = True
    self.obey(received or ())

  def obey(self, received: Iterable[messages.Message]) -> None:
    """Does what the launcher's messages ask for."""
    for message in received:
      match message:
        case messages.Reserve():
          address = self._ports.reserve().build()
          self._stream.send(messages.Reserved(address))
        case messages.Order():
          self._start(message)
        case messages.Signal(task, signum):
          self._zygote.signal(task, signum)
        case messages.Leave():
          self.is_dismissed = True
        case _:
          raise messages.MessageError(f'a launcher does not send {message}')

  def _start(self, order: messages.Order) -> None:
    if order.task in self._devices:
      devices = {_DEVICES: self._devices[order.task]}
      order = dataclasses.replace(order, env={**order.env, **devices})
    reader = self._readers[order.task] = self._zygote.start(order)
    self._watch(reader, lambda: self._on_lines(order.task, reader))

  def _on_stop(self) -> None:
    self._listener.clear()
    self._stream.send(messages.StopCalled())

  def _on_zygote(self) -> None:
    message = self._zygote.receive()
    if message is None:
      self._over = True
      return
    if isinstance(message, messages.Ready):
      self._ready = True
    elif isinstance(message, messages.Exited):
      self._close_reader(message.task)
    self._stream.send(message)

  def _on_zygote_lines(self) -> None:
    lines = self._zygote.reader.read()
    if self._zygote.reader.closed:
      self._selector.unregister(self._zygote.reader)
    self._send_lines(None, lines)

  def _on_lines(self, task: str, reader: line_reader.LineReader) -> None:
    # The reader may have been closed since the selector returned.
    if self._readers.get(task) is reader:
      self._send_lines(task, reader.read())
      if reader.closed:
        self._close_reader(task)

  def _close_reader(self, task: str) -> None:
    reader = self._readers.pop(task, None)
    if reader is not None:
      self._selector.unregister(reader)
      self._send_lines(task, reader.close())

  def _send_lines(self, task: str | None, lines: list[str]) -> None:
    if lines:
      self._stream.send(messages.Lines(task, lines))


def _share_out(
  visible: str | None, gpus: Mapping[str, int]
) -> dict[str, str | None]:
  """Gives each device of the node to one task.

  Args:
    visible: the node's devices, as in `CUDA_VISIBLE_DEVICES`; None if that is
      not set.
    gpus: maps each task that gets devices to their number.

  Returns:
    The value of `CUDA_VISIBLE_DEVICES` by task; None leaves it unset.
  """
  if visible is None:
    return dict.fromkeys(gpus)
  devices, result = visible.split(','), {}
  for task, count in gpus.items():
    result[task], devices = ','.join(devices[:count]), devices[count:]
  return result


def ignore_signals() -> None:
  """Leaves signals to the launcher, even if they are sent to every node."""
  for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(signum, signal.SIG_IGN)


def work(stream: channels.Stream) -> bool:
  """Does the work of a node's daemon until the launcher is gone.

  Args:
    stream: carries the messages to and from the launcher.

  Returns:
    Whether the launcher has said that it no longer needs the node.
  """
  received = []
  while not received:
    received = stream.receive()
    if received is None:
      return False
  setup, *others = received
  with (
    private_folder.folder('launchpad-node') as directory,
    contextlib.closing(NodeDaemon(stream, setup, directory)) as daemon,
  ):
    # Sending raises an error if the launcher is gone.
    with contextlib.suppress(ConnectionError):
      daemon.obey(others)
      daemon.serve()
    return daemon.is_dismissed


def main() -> None:
  """Runs a daemon that the launcher has started."""
  ignore_signals()
  stream = channels.Stream(0, os.dup(1))
  os.dup2(2, 1)
  work(stream)
