"""The launcher's side of one node's daemon, and of those that follow it."""

import contextlib
import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from backends.cluster import links
from backends.process import loopback


class Node(NamedTuple):
  """One machine of the run.

  Attributes:
    name: what people call it.
    tasks: the names of those that live there, each with the number of
      accelerators that it is given.
    reach: waits for its daemon and returns the link to it; given the file
      descriptor for what the daemon prints.
    returns: whether another daemon comes when one is lost. If none does, the
      loss ends the run.
    host: the address that others reach it at, if that is known ahead.
    free: called when the run needs it no more.
  """

  name: str
  tasks: Mapping[str, int]
  reach: Callable[[int], links.Link]
  returns: bool = False
  host: str | None = None
  free: Callable[[], None] = lambda: None


def started(
  name: str, host: str, tasks: Mapping[str, int], command: Sequence[str]
) -> Node:
  """Returns a node whose daemon is started by a command, input and output ours.

  Args:
    name: as of a `Node`.
    host: the address that the other nodes reach it at.
    tasks: as of a `Node`.
    command: starts `backends.cluster.node_daemon` there.
  """
  reach = functools.partial(links.PipeLink, command, host)
  return Node(name, tasks, reach, host=host)


class NodeClient:
  """What the launcher has of a node.

  Attributes:
    node: the node.
    thread: takes in what the daemon says.
    up: set once there is a daemon, or will be none.
    outputs: by task, the writing end of the pipe that has what it prints.
    replies: the addresses that were asked for; None when there is no daemon.
    addresses: those of the node's tasks. More may come, none goes.
    finished: those of its tasks that have no need of it any more.
    epitaph: how its last daemon ended.
    is_released: whether the run needs it no more.
    is_reaching: whether it waits for a daemon.
  """

  def __init__(self, node: Node):
    self.node = node
    self.thread: threading.Thread | None = None
    self.up = threading.Event()
    self.outputs: dict[str, int] = {}
    self.replies: queue.Queue[loopback.FixedAddress | None] = queue.Queue()
    self.addresses: list[loopback.FixedAddress] = []
    self.finished: set[str] = set()
    self.epitaph = ''
    self.is_released = False
    self.is_reaching = True
    self._link: links.Link | None = None
    self._spoken_to_at = 0.0
    self._lock = threading.Lock()
    # How many addresses were asked for that are not there yet.
    self._asked = 0
    # The addresses on a node that has taken the place of another.
    self._moved: list[str] | None = None

  @property
  def is_idle(self) -> bool:
    """Whether none of its tasks has any need of it."""
    return self.finished == set(self.node.tasks)

  def reach(self, config: Mapping[str, Any], stderr: int) -> None:
    """Waits for a daemon and tells it what to be.

    Args:
      config: what daemons are told.
      stderr: the file descriptor for what it prints.

    Raises:
      NoDaemonError: there is none.
    """
    self.is_reaching = True
    link = self.node.reach(stderr)
    gpus = {task: count for task, count in self.node.tasks.items() if count}
    with self._lock:
      self._link = link
      self._spoken_to_at = time.monotonic()
      self.is_reaching = False
      self.send({**config, 'host': link.host, 'gpus': gpus})
      self._moved = [] if self.up.is_set() else None
      # Those it is to have anew come first.
      for _ in range(len(self.addresses) + self._asked):
        self.send({'do': 'reserve'})
    self.up.set()

  def ask(self) -> None:
    """Asks for one more address, of this daemon or of the one after it."""
    with self._lock:
      self._asked += 1
      self._spoken_to_at = time.monotonic()
      if not self.is_reaching:
        self.send({'do': 'reserve'})

  def on_reserved(self, text: str) -> None:
    """Takes an address that was asked for."""
    with self._lock:
      if self._moved is not None and len(self._moved) < len(self.addresses):
        self._moved.append(text)
        return
      self._asked -= 1
      address = loopback.FixedAddress(text)
      self.addresses.append(address)
      self.replies.put(address)

  def is_mute(self, timeout: float) -> bool:
    """Whether a daemon is there that has owed an answer for so long."""
    since = time.monotonic() - self._spoken_to_at
    return not self.is_reaching and since >= timeout

  def moved(self) -> list[str] | None:
    """Returns, once, the new addresses when the node has taken a place."""
    if self._moved is None or len(self._moved) < len(self.addresses):
      return None
    moved, self._moved = self._moved, None
    return moved

  def receive(self) -> list[dict[str, Any]] | None:
    """As of a `wire.Stream`."""
    return self._link.stream.receive()

  def send(self, message: Mapping[str, Any]) -> None:
    # If it is gone, its thread says so.
    with contextlib.suppress(ConnectionError):
      self._link.stream.send(message)

  def close_outputs(self) -> list[str]:
    """Ends what its tasks print; returns the tasks that had a process."""
    tasks = list(self.outputs)
    while self.outputs:
      os.close(self.outputs.popitem()[1])
    return tasks

  def hang_up(self, is_over: bool = True) -> None:
    """Has the daemon end, and every process of its node with it.

    Args:
      is_over: whether it is told that there is nothing more to come.
    """
    self.is_released = True
    if self._link is not None:
      if is_over:
        self.send({'do': 'leave'})
      self._link.hang_up()

  def end(self, timeout: float) -> None:
    """Waits for the daemon's end, after which it is cut off."""
    if self._link is not None:
      how = self._link.end(timeout)
      self.epitaph = f'{self.node.name} is lost: its daemon {how}.'
