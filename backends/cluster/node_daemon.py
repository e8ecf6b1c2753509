"""The process on each node that starts the node's tasks for the launcher.

The launcher, on one of the nodes, tells each node's daemon which tasks to start
and to signal, and is told what they print and how they end. The two talk over
the daemon's standard input and output, which `srun` carries, or over TCP; see
`join`. When the launcher is gone, the daemon ends and so does every process of
its node.
"""

import contextlib
import os
import selectors
import signal
from collections.abc import Callable, Iterable
from typing import Any

from backends.process import loopback, zygote_client
from backends.process import messages as wire
from system import line_reader, private_folder

_DEVICES = 'CUDA_VISIBLE_DEVICES'


class NodeDaemon:
  """Passes on what the launcher wants and what the zygote and tasks say.

  Attributes:
    is_dismissed: whether the launcher has said that it needs it no more.
  """

  def __init__(
    self, stream: wire.Stream, config: dict[str, Any], directory: str
  ):
    """Starts the zygote.

    Args:
      stream: to the launcher.
      config: its first message: `host`, the address that others reach this node
        at; `preload`, `fork` and `env` as a `ZygoteClient` takes them; `gpus`,
        how many each task of the node is given.
      directory: for the node's own files.
    """
    self._stream = stream
    self._devices = _share_out(os.environ.get(_DEVICES), config['gpus'])
    self._ports = loopback.ReservedPorts(config['host'], interface='')
    stop_path = os.path.join(directory, 'stop')
    self._listener = loopback.StopListener(stop_path)
    self._zygote = zygote_client.ZygoteClient(
      directory,
      config['preload'],
      config['fork'],
      {**config['env'], loopback.STOP_PATH: stop_path},
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
    """Returns when the launcher, or the zygote, is gone."""
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
    messages = self._stream.receive()
    if messages is None:
      self._over = True
    self.obey(messages or ())

  def obey(self, messages: Iterable[dict[str, Any]]) -> None:
    """Does what the launcher asks for."""
    for message in messages:
      if message['do'] == 'reserve':
        address = self._ports.reserve().build()
        self._stream.send({'event': 'reserved', 'address': address})
      elif message['do'] == 'start':
        self._start(wire.Order(*message['order']))
      elif message['do'] == 'leave':
        self.is_dismissed = True
      else:
        self._zygote.signal(message['task'], message['signal'])

  def _start(self, order: wire.Order) -> None:
    if order.task in self._devices:
      devices = {_DEVICES: self._devices[order.task]}
      order = order._replace(env={**order.env, **devices})
    reader = self._readers[order.task] = self._zygote.start(order)
    self._watch(reader, lambda: self._on_lines(order.task, reader))

  def _on_stop(self) -> None:
    self._listener.clear()
    self._stream.send({'event': 'stop'})

  def _on_zygote(self) -> None:
    message = self._zygote.receive()
    if message is None:
      self._over = True
      return
    self._ready = self._ready or message['event'] == 'ready'
    if message['event'] == 'exited':
      self._close_reader(message['task'])
    self._stream.send(message)

  def _on_zygote_lines(self) -> None:
    lines = self._zygote.reader.read()
    if self._zygote.reader.closed:
      self._selector.unregister(self._zygote.reader)
    self._say(None, lines)

  def _on_lines(self, task: str, reader: line_reader.LineReader) -> None:
    # It may have been closed since, in this turn of the loop.
    if self._readers.get(task) is reader:
      self._say(task, reader.read())
      if reader.closed:
        self._close_reader(task)

  def _close_reader(self, task: str) -> None:
    reader = self._readers.pop(task, None)
    if reader is not None:
      self._selector.unregister(reader)
      self._say(task, reader.close())

  def _say(self, task: str | None, lines: list[str]) -> None:
    if lines:
      self._stream.send({'event': 'lines', 'task': task, 'lines': lines})


def _share_out(
  visible: str | None, gpus: dict[str, int]
) -> dict[str, str | None]:
  """Returns the devices of each task that is given any, none of them twice."""
  if visible is None:
    return dict.fromkeys(gpus)
  devices, result = visible.split(','), {}
  for task, count in gpus.items():
    result[task], devices = ','.join(devices[:count]), devices[count:]
  return result


def ignore_signals() -> None:
  """Leaves them to the launcher, also when they are sent to every node."""
  for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(signum, signal.SIG_IGN)


def work(stream: wire.Stream) -> bool:
  """Is a node's daemon for as long as the launcher is there.

  Args:
    stream: to the launcher.

  Returns:
    Whether that has said that the node is needed no more.
  """
  messages = []
  while not messages:
    messages = stream.receive()
    if messages is None:
      return False
  config, *others = messages
  with (
    private_folder.folder('launchpad-node') as directory,
    contextlib.closing(NodeDaemon(stream, config, directory)) as daemon,
  ):
    # A launcher that is gone shows when it is spoken to as well.
    with contextlib.suppress(ConnectionError):
      daemon.obey(others)
      daemon.serve()
    return daemon.is_dismissed


def main() -> None:
  """Entry of a daemon that the launcher starts."""
  ignore_signals()
  stream = wire.Stream(0, os.dup(1))
  os.dup2(2, 1)
  work(stream)
