"""The zygotes of several nodes, to the launcher as if they were one."""

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from backends.cluster import links, node_client
from backends.process import loopback
from backends.process import messages as wire
from system import line_reader

_ANSWER_SECS = 120.0
_END_SECS = 15.0
_POLL_SECS = 0.2
_LAST_LINES = 10

NodeClient = node_client.NodeClient


class NodeLostError(ConnectionError):
  """A node's daemon has ended, or does not answer."""


class Fleet:
  """Daemons on nodes; has what a `launcher.Zygote` has.

  A thread for each node takes in what its daemon says, and puts it where a
  zygote of this machine would have put it.
  """

  # Of the daemons' imports; `reach` has a deadline of its own.
  ready_secs = 3600.0

  def __init__(
    self,
    nodes: Sequence[node_client.Node],
    stopper: loopback.FifoStopper,
    preload: Sequence[str],
    fork: bool,
    env: Mapping[str, str | None],
  ):
    """Reaches for the daemons; `ready` is said when all have imported.

    Args:
      nodes: where to; each task of the run is on one of them.
      stopper: called when `lp.stop()` was, on any node.
      preload: modules for each node's zygote to import.
      fork: whether it forks the tasks off itself.
      env: environment variables that all tasks share; None unsets.
    """
    self._stopper = stopper
    self._config = {'preload': list(preload), 'fork': fork, 'env': dict(env)}
    self.channel, theirs = wire.pair()
    self._events = wire.Channel(theirs)
    pipe, self._notes = os.pipe()
    self.reader = line_reader.LineReader(pipe)
    self._lock = threading.Lock()
    self._not_ready = {node.name for node in nodes}
    self._reasons: list[str] = []
    self._closing = False
    self.lost: list[str] = []
    self._of: dict[str, NodeClient] = {}
    for node in nodes:
      self.add(node)

  def add(self, node: node_client.Node, is_extra: bool = False) -> None:
    """Reaches for the daemon of one more node.

    Args:
      node: the node.
      is_extra: whether the run can do without, if there never is a daemon.
    """
    daemon = NodeClient(node)
    self._of.update(dict.fromkeys(node.tasks, daemon))
    daemon.thread = threading.Thread(
      target=self._serve,
      args=[daemon, is_extra],
      name=node.name,
      daemon=True,
    )
    daemon.thread.start()

  def wait_for(self, tasks: Sequence[str]) -> None:
    """Waits until there are daemons on the nodes of tasks.

    Raises:
      NodeLostError: there will be none; the nodes of these tasks are given up.
    """
    for task in tasks:
      self._of[task].up.wait()
    lacking = [self._of[t].epitaph for t in tasks if self._of[t].epitaph]
    if lacking:
      for task in tasks:
        self.release(task)
      raise NodeLostError(' '.join(lacking))

  def reserve(self, label: str, index: int) -> loopback.FixedAddress:
    """Takes a port on the node of a task; returns its address.

    Raises:
      NodeLostError: the node's daemon has ended or does not answer.
    """
    daemon = self._of[f'{label}/{index}']
    daemon.ask()
    address = self._answer(daemon)
    if address is None:
      lines = self.reader.read()[-_LAST_LINES:]
      raise NodeLostError('\n'.join([*lines, daemon.epitaph]))
    return address

  def _answer(self, daemon: NodeClient) -> loopback.FixedAddress | None:
    while True:
      with contextlib.suppress(queue.Empty):
        return daemon.replies.get(timeout=_POLL_SECS)
      if daemon.is_mute(_ANSWER_SECS):
        raise NodeLostError(
          f'{daemon.node.name} did not answer for {_ANSWER_SECS:.0f} s.'
        )

  def receive(self) -> dict[str, Any] | None:
    message = self.channel.receive()[0]
    if message is not None and message['event'] == 'placed':
      # None if they have left the run since.
      daemon = self._of.get(message['tasks'][0])
      known = [] if daemon is None else daemon.addresses
      # An address that was asked for since is on the new place already.
      for address, text in zip(known, message['addresses'], strict=False):
        address.move(text)
    return message

  def start(self, order: wire.Order) -> line_reader.LineReader:
    """Asks for a process; returns its output."""
    daemon = self._of[order.task]
    reader, daemon.outputs[order.task] = os.pipe()
    daemon.send({'do': 'start', 'order': order})
    return line_reader.LineReader(reader)

  def signal(self, task: str, signum: int) -> None:
    """Sends a signal to a task if it runs; SIGKILL to all its session."""
    daemon = self._of[task]
    daemon.send({'do': 'signal', 'task': task, 'signal': signum})

  def release(self, task: str) -> None:
    """Ends the daemon of a node whose only task has left the run."""
    daemon = self._of.pop(task)
    daemon.hang_up()
    if daemon.is_reaching:
      daemon.node.free()

  def finish(self, task: str) -> None:
    """Takes note that a task needs its node no more, which may then be lost."""
    self._of[task].finished.add(task)

  def wait(self) -> int:
    """As of a `ZygoteClient`, whose channel would have ended by itself."""
    return 0

  def close(self, ready: bool = True, is_over: bool = True) -> None:
    """Ends all daemons, and with them every process on their nodes.

    Args:
      ready: of no use here: each daemon knows that of its own zygote.
      is_over: whether daemons are told that there is nothing more to come.
    """
    del ready
    if self._closing:
      return
    self._closing = True
    deadline = time.monotonic() + _END_SECS
    daemons = set(self._of.values())
    for daemon in daemons:
      daemon.hang_up(is_over)
    for daemon in daemons:
      if daemon.is_reaching:
        continue  # For one that would be told to leave.
      daemon.thread.join(max(deadline - time.monotonic(), 0.1))
      daemon.end(0.1)
      daemon.thread.join(_END_SECS)
    os.close(self._notes)

  def _serve(self, daemon: NodeClient, is_extra: bool) -> None:
    """Talks with one node's daemons, one after the other."""
    while True:
      try:
        daemon.reach(self._config, self._notes)
      except links.NoDaemonError as e:
        # `wait_for` says it to whoever wants more.
        daemon.is_released |= is_extra and not daemon.up.is_set()
        self._give_up(daemon, str(e))
        return
      if daemon.is_released:
        # Another of that name may wait for a daemon, and this one comes again.
        daemon.hang_up(is_over=False)
        daemon.end(_END_SECS)
        return
      self._tell_if_placed(daemon)
      while (messages := daemon.receive()) is not None:
        for message in messages:
          self._take(daemon, message)
      daemon.end(_END_SECS)
      if self._closing or daemon.is_released or daemon.is_idle:
        # Whoever waits for an address may now say how it ended.
        daemon.replies.put(None)
        daemon.node.free()
        return
      if not daemon.node.returns:
        self._give_up(daemon, daemon.epitaph)
        return
      self._tell(
        {
          'event': 'lost',
          'tasks': list(daemon.node.tasks),
          'error': daemon.epitaph,
        }
      )
      daemon.close_outputs()

  def _give_up(self, daemon: NodeClient, error: str) -> None:
    daemon.epitaph = error
    daemon.replies.put(None)
    daemon.up.set()
    if self._closing or daemon.is_released or daemon.is_idle:
      return
    self.lost.append(daemon.node.name)
    self._tell({'event': 'failed', 'node': daemon.node.name, 'error': error})
    # Slurm, or the kernel, has killed them with their daemon.
    for task in daemon.close_outputs():
      self._tell(
        {'event': 'exited', 'task': task, 'exit_code': -signal.SIGKILL}
      )

  def _take(self, daemon: NodeClient, message: dict[str, Any]) -> None:
    event = message['event']
    if event == 'lines' and message['task'] is None:
      self._note(daemon, message['lines'])
    elif event == 'lines':
      _write(daemon.outputs[message['task']], message['lines'])
    elif event == 'reserved':
      daemon.on_reserved(message['address'])
      self._tell_if_placed(daemon)
    elif event == 'stop':
      self._stopper()
    elif event == 'ready':
      self._on_ready(daemon, message)
    else:
      if event == 'exited':
        os.close(daemon.outputs.pop(message['task']))
      self._tell(message)

  def _tell_if_placed(self, daemon: NodeClient) -> None:
    addresses = daemon.moved()
    if addresses is not None:
      tasks = list(daemon.node.tasks)
      self._tell({'event': 'placed', 'tasks': tasks, 'addresses': addresses})

  def _on_ready(self, daemon: NodeClient, message: dict[str, Any]) -> None:
    with self._lock:
      if daemon.node.name not in self._not_ready:
        return
      self._not_ready.discard(daemon.node.name)
      if message['reason_not_to_fork']:
        self._reasons.append(message['reason_not_to_fork'])
      if self._not_ready:
        return
    reason = next(iter(self._reasons), None)
    self._tell({**message, 'reason_not_to_fork': reason})

  def _tell(self, message: dict[str, Any]) -> None:
    # The launcher may have ended by an error of its own.
    with contextlib.suppress(OSError):
      self._events.send(message)

  def _note(self, daemon: NodeClient, lines: Sequence[str]) -> None:
    _write(self._notes, [f'{daemon.node.name}: {line}' for line in lines])


def _write(pipe: int, lines: Sequence[str]) -> None:
  # Nobody reads any more if the launcher has ended by an error of its own.
  with contextlib.suppress(OSError):
    data = '\n'.join([*lines, '']).encode()
    while data:
      data = data[os.write(pipe, data) :]
