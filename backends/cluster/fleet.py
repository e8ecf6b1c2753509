"""The daemons of several nodes, which the launcher uses like one zygote."""

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Sequence

from backends.cluster import links, node_client
from backends.process import channels, loopback, messages
from backends.supervision import config as config_lib
from system import line_reader

_ANSWER_SECS = 120.0
_END_SECS = 15.0
_POLL_SECS = 0.2
_LAST_LINES = 10

NodeClient = node_client.NodeClient


class NodeLostError(ConnectionError):
  """A node's daemon has ended, or does not answer."""


class Fleet:
  """The daemons of all nodes, as a `machines.Zygote`.

  A thread for each node receives what the node's daemon sends. It passes the
  messages and lines on through the same channel and pipes as a zygote of this
  machine.

  Attributes:
    lost: names of the nodes whose loss ends the run.
  """

  # Seconds that the imports on all nodes may take. Waiting for the daemons has
  # deadlines of its own.
  ready_secs = 3600.0

  def __init__(
    self,
    nodes: Sequence[node_client.Node],
    stopper: loopback.FifoStopper,
    config: config_lib.RunConfig,
  ):
    """Starts a thread for each node, which waits for the node's daemon.

    When all daemons have imported, `Ready` is sent on `channel`.

    Args:
      nodes: the nodes; each task of the run is on one of them.
      stopper: called when a task on any node calls `lp.stop()`.
      config: the run's settings, some of which each daemon is sent.
    """
    self._stopper = stopper
    self._config = config
    self.channel, theirs = channels.pair()
    self._events = channels.Channel(theirs)
    pipe, self._notes = os.pipe()
    self.reader = line_reader.LineReader(pipe)
    self._lock = threading.Lock()
    self._not_ready = {node.name for node in nodes}
    self._reasons: list[str] = []
    self._closing = False
    self.lost: list[str] = []
    # The client of each task's node, by the task's name.
    self._clients: dict[str, NodeClient] = {}
    for node in nodes:
      self.add(node)

  def add(self, node: node_client.Node, is_extra: bool = False) -> None:
    """Starts a thread that waits for the daemon of one more node.

    Args:
      node: the node.
      is_extra: whether the run goes on without the node if no daemon comes.
    """
    client = NodeClient(node)
    self._clients.update(dict.fromkeys(node.tasks, client))
    client.thread = threading.Thread(
      target=self._serve,
      args=[client, is_extra],
      name=node.name,
      daemon=True,
    )
    client.thread.start()

  def wait_for(self, tasks: Sequence[str]) -> None:
    """Waits until daemons run on the nodes of some tasks.

    Args:
      tasks: the tasks' names.

    Raises:
      NodeLostError: a daemon did not come in time. The nodes of all these tasks
        are released.
    """
    for task in tasks:
      self._clients[task].answered.wait()
    losses = [self._clients[task].loss for task in tasks]
    if any(losses):
      for task in tasks:
        self.release(task)
      raise NodeLostError(' '.join(filter(None, losses)))

  def reserve(self, label: str, index: int) -> loopback.FixedAddress:
    """Takes a port on the node of a task; returns its address.

    Raises:
      NodeLostError: the node's daemon has ended or does not answer.
    """
    client = self._clients[f'{label}/{index}']
    client.ask_for_address()
    address = self._wait_for_address(client)
    if address is None:
      lines = self.reader.read()[-_LAST_LINES:]
      raise NodeLostError('\n'.join([*lines, client.loss]))
    return address

  def _wait_for_address(
    self, client: NodeClient
  ) -> loopback.FixedAddress | None:
    while True:
      with contextlib.suppress(queue.Empty):
        return client.replies.get(timeout=_POLL_SECS)
      if client.is_mute(_ANSWER_SECS):
        raise NodeLostError(
          f'{client.node.name} did not answer for {_ANSWER_SECS:.0f} s.'
        )

  def receive(self) -> messages.Message | None:
    message = self.channel.receive()[0]
    if isinstance(message, messages.NodeReplaced):
      # There is no client if the tasks have left the run meanwhile.
      client = self._clients.get(message.tasks[0])
      known = [] if client is None else client.addresses
      # The message lists the moved addresses only. Addresses that were reserved
      # later are on the new node already.
      for address, text in zip(known, message.addresses, strict=False):
        address.move(text)
    return message

  def start(self, order: messages.Order) -> line_reader.LineReader:
    client = self._clients[order.task]
    reader, client.outputs[order.task] = os.pipe()
    client.send(order)
    return line_reader.LineReader(reader)

  def signal(self, task: str, signum: int) -> None:
    self._clients[task].send(messages.Signal(task, signum))

  def release(self, task: str) -> None:
    """Ends the daemon of a node whose only task has left the run."""
    client = self._clients.pop(task)
    client.hang_up()
    if client.is_connecting:
      client.node.free()

  def finish(self, task: str) -> None:
    """Records that a task no longer needs its node.

    If the node is lost later, the run goes on.
    """
    self._clients[task].finished.add(task)

  def wait(self) -> int:
    # This is never needed: the fleet's channel ends only when the fleet is
    # closed.
    return 0

  def close(self, ready: bool = True, is_over: bool = True) -> None:
    """Ends all daemons and all processes that they have started.

    Args:
      ready: unused; each daemon knows whether its zygote is ready.
      is_over: whether to tell the daemons that the run no longer needs their
        nodes.
    """
    del ready
    if self._closing:
      return
    self._closing = True
    deadline = time.monotonic() + _END_SECS
    clients = set(self._clients.values())
    for client in clients:
      client.hang_up(is_over)
    for client in clients:
      if client.is_connecting:
        # The client's thread waits for a daemon. It ends with this process.
        continue
      client.thread.join(max(deadline - time.monotonic(), 0.1))
      client.end(0.1)
      client.thread.join(_END_SECS)
    os.close(self._notes)

  def _serve(self, client: NodeClient, is_extra: bool) -> None:
    """Serves one node's daemon, and each later daemon that replaces it."""
    while True:
      try:
        client.connect(self._config, self._notes)
      except links.NoDaemonError as e:
        # `wait_for` reports it to the caller that wants the node.
        client.is_released |= is_extra and not client.answered.is_set()
        self._give_up(client, str(e))
        return
      if client.is_released:
        # The daemon will connect again, and a new node of the same name may be
        # waiting for it.
        client.hang_up(is_over=False)
        client.end(_END_SECS)
        return
      self._tell_if_replaced(client)
      while (received := client.receive()) is not None:
        for message in received:
          self._take(client, message)
      client.end(_END_SECS)
      if self._closing or client.is_released or client.is_idle:
        # `reserve` may be waiting for an address. It now raises an error that
        # says how the daemon ended.
        client.replies.put(None)
        client.node.free()
        return
      if not client.node.is_replaced:
        self._give_up(client, client.loss)
        return
      self._tell(messages.NodeLost(list(client.node.tasks), client.loss))
      client.close_outputs()

  def _give_up(self, client: NodeClient, error: str) -> None:
    client.loss = error
    client.replies.put(None)
    client.answered.set()
    if self._closing or client.is_released or client.is_idle:
      return
    self.lost.append(client.node.name)
    self._tell(messages.Failed(error, client.node.name))
    # Slurm, or the kernel, has killed the tasks with their daemon.
    for task in client.close_outputs():
      self._tell(messages.Exited(task, -signal.SIGKILL))

  def _take(self, client: NodeClient, message: messages.Message) -> None:
    match message:
      case messages.Lines(None, lines):
        prefix = f'{client.node.name}: '
        _write(self._notes, [prefix + line for line in lines])
      case messages.Lines(task, lines):
        _write(client.outputs[task], lines)
      case messages.Reserved(address):
        client.on_reserved(address)
        self._tell_if_replaced(client)
      case messages.StopCalled():
        self._stopper()
      case messages.Ready(reason_not_to_fork):
        self._on_ready(client, reason_not_to_fork)
      case messages.Exited(task):
        os.close(client.outputs.pop(task))
        self._tell(message)
      case _:
        self._tell(message)

  def _tell_if_replaced(self, client: NodeClient) -> None:
    addresses = client.take_moved()
    if addresses is not None:
      self._tell(messages.NodeReplaced(list(client.node.tasks), addresses))

  def _on_ready(
    self, client: NodeClient, reason_not_to_fork: str | None
  ) -> None:
    with self._lock:
      if client.node.name not in self._not_ready:
        return
      self._not_ready.discard(client.node.name)
      if reason_not_to_fork:
        self._reasons.append(reason_not_to_fork)
      if self._not_ready:
        return
    self._tell(messages.Ready(next(iter(self._reasons), None)))

  def _tell(self, message: messages.Message) -> None:
    # The supervisor may have ended with an error, and closed the channel.
    with contextlib.suppress(OSError):
      self._events.send(message)


def _write(pipe: int, lines: Sequence[str]) -> None:
  # The supervisor may have ended with an error, and closed the pipe.
  with contextlib.suppress(OSError):
    data = '\n'.join([*lines, '']).encode()
    while data:
      data = data[os.write(pipe, data) :]
