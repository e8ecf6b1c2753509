"""The launcher's side of one node: the connection with the node's daemon.

If the daemon is lost, the one that replaces it gets the same `NodeClient`.
"""

import contextlib
import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from backends.cluster import links
from backends.process import loopback, messages
from backends.supervision import config as config_lib


class Node(NamedTuple):
  """One machine of the run.

  Attributes:
    name: the node's name in messages to people.
    tasks: maps the name of each task that runs there to the number of
      accelerators that the task gets.
    connect: waits for the node's daemon and returns the link to it. Its
      argument is the file descriptor for what the daemon prints.
    is_replaced: whether another daemon comes when one is lost. If none comes,
      the loss ends the run.
    host: the address at which other nodes reach this one; None if it is known
      only once the daemon has connected.
    free: called when the run no longer needs the node.
  """

  name: str
  tasks: Mapping[str, int]
  connect: Callable[[int], links.Link]
  is_replaced: bool = False
  host: str | None = None
  free: Callable[[], None] = lambda: None


def started(
  name: str, host: str, tasks: Mapping[str, int], command: Sequence[str]
) -> Node:
  """Returns a node whose daemon the launcher starts by a command.

  Args:
    name: as in `Node`.
    host: the address at which the other nodes reach it.
    tasks: as in `Node`.
    command: the command that runs `backends.cluster.node_daemon` there. Its
      standard input and output are those of the daemon.
  """
  connect = functools.partial(links.PipeLink, command, host)
  return Node(name, tasks, connect, host=host)


class NodeClient:
  """The launcher's side of one node.

  Attributes:
    node: the node.
    thread: the thread that receives the daemon's messages.
    answered: set once a daemon has connected, or the wait for it is given up.
    outputs: for each task's name, the writing end of the pipe for what the task
      prints.
    replies: the addresses that were asked for; None if there is no daemon.
    addresses: the addresses of the node's tasks. Addresses are added, and none
      is removed.
    finished: the names of the tasks that will not run again.
    loss: the sentence that says how the last daemon ended; empty until then.
    is_released: whether the run no longer needs the node.
    is_connecting: whether it waits for a daemon.
  """

  def __init__(self, node: Node):
    """Makes a client that has no daemon yet."""
    self.node = node
    self.thread: threading.Thread | None = None
    self.answered = threading.Event()
    self.outputs: dict[str, int] = {}
    self.replies: queue.Queue[loopback.FixedAddress | None] = queue.Queue()
    self.addresses: list[loopback.FixedAddress] = []
    self.finished: set[str] = set()
    self.loss = ''
    self.is_released = False
    self.is_connecting = True
    self._link: links.Link | None = None
    self._spoken_to_at = 0.0
    self._lock = threading.Lock()
    # The number of addresses that were asked for and have not come yet.
    self._num_asked = 0
    # The new addresses of the tasks, while a new daemon replaces a lost one.
    self._moved: list[str] | None = None

  @property
  def is_idle(self) -> bool:
    """Whether none of its tasks will run again."""
    return self.finished == set(self.node.tasks)

  def connect(self, config: config_lib.RunConfig, stderr: int) -> None:
    """Waits for a daemon and sends it its setup.

    Args:
      config: the run's settings, some of which the daemon is sent.
      stderr: the file descriptor for what the daemon prints.

    Raises:
      NoDaemonError: no daemon came in time.
    """
    self.is_connecting = True
    link = self.node.connect(stderr)
    setup = messages.NodeSetup(
      host=link.host,
      gpus={task: count for task, count in self.node.tasks.items() if count},
      preload=list(config.preload),
      fork=config.start == 'fork',
      env=dict(config.default_env),
    )
    with self._lock:
      self._link = link
      self._spoken_to_at = time.monotonic()
      self.is_connecting = False
      self.send(setup)
      self._moved = [] if self.answered.is_set() else None
      # The first replies replace the addresses that the tasks have already.
      for _ in range(len(self.addresses) + self._num_asked):
        self.send(messages.Reserve())
    self.answered.set()

  def ask_for_address(self) -> None:
    """Asks the daemon for one more address.

    If there is no daemon now, the next one is asked.
    """
    with self._lock:
      self._num_asked += 1
      self._spoken_to_at = time.monotonic()
      if not self.is_connecting:
        self.send(messages.Reserve())

  def on_reserved(self, text: str) -> None:
    """Takes an address that the daemon has reserved."""
    with self._lock:
      if self._moved is not None and len(self._moved) < len(self.addresses):
        self._moved.append(text)
        return
      self._num_asked -= 1
      address = loopback.FixedAddress(text)
      self.addresses.append(address)
      self.replies.put(address)

  def is_mute(self, timeout: float) -> bool:
    """Returns whether a daemon has owed an answer for `timeout` seconds."""
    since = time.monotonic() - self._spoken_to_at
    return not self.is_connecting and since >= timeout

  def take_moved(self) -> list[str] | None:
    """Returns the new addresses after a new daemon has replaced a lost one.

    Returns:
      The addresses, once per replacement; None at any other time.
    """
    if self._moved is None or len(self._moved) < len(self.addresses):
      return None
    moved, self._moved = self._moved, None
    return moved

  def receive(self) -> list[messages.Message] | None:
    """Returns the daemon's next messages; None if it is gone."""
    return self._link.stream.receive()

  def send(self, message: messages.Message) -> None:
    """Sends the daemon a message."""
    # If the daemon is gone, `receive` returns None.
    with contextlib.suppress(ConnectionError):
      self._link.stream.send(message)

  def close_outputs(self) -> list[str]:
    """Closes the pipes of the node's tasks.

    Returns:
      The names of the tasks that had a process.
    """
    tasks = list(self.outputs)
    while self.outputs:
      os.close(self.outputs.popitem()[1])
    return tasks

  def hang_up(self, is_over: bool = True) -> None:
    """Has the daemon end, and with it all processes that it has started.

    Args:
      is_over: whether to tell it that the run no longer needs its node.
    """
    self.is_released = True
    if self._link is not None:
      if is_over:
        self.send(messages.Leave())
      self._link.hang_up()

  def end(self, timeout: float) -> None:
    """Waits for the daemon's end, and cuts it off after `timeout` seconds."""
    if self._link is not None:
      how = self._link.end(timeout)
      self.loss = f'{self.node.name} is lost: its daemon {how}.'
