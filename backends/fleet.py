"""The zygotes of several nodes, to the launcher as if they were one."""

import contextlib
import dataclasses
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from backends import loopback, output, wire

_ANSWER_SECS = 120.0
_END_SECS = 15.0
_LAST_LINES = 10


class NodeLostError(ConnectionError):
  """A node's agent has ended, or does not answer."""


@dataclasses.dataclass(frozen=True)
class Node:
  """One machine of the run.

  Attributes:
    name: what people call it.
    host: the address that the others reach it at.
    tasks: the names of those that live there, each with the number of
      accelerators that it is given.
    command: starts `backends.agent` there, its input and output with us.
  """

  name: str
  host: str
  tasks: Mapping[str, int]
  command: Sequence[str]


class Fleet:
  """Agents on nodes; has what a `launcher.Zygote` has.

  A thread for each node takes in what its agent says, and puts it where a
  zygote of this machine would have put it.
  """

  def __init__(
    self,
    nodes: Sequence[Node],
    stopper: loopback.FifoStopper,
    preload: Sequence[str],
    fork: bool,
    env: Mapping[str, str | None],
  ):
    """Starts the agents; `ready` is said when all have imported.

    Args:
      nodes: where to; each task of the run is on one of them.
      stopper: called when `lp.stop()` was, on any node.
      preload: modules for each node's zygote to import.
      fork: whether it forks the tasks off itself.
      env: environment variables that all tasks share; None unsets.
    """
    self._stopper = stopper
    self.channel, theirs = wire.pair()
    self._events = wire.Channel(theirs)
    pipe, self._notes = os.pipe()
    self.reader = output.LineReader(pipe)
    self._lock = threading.Lock()
    self._reasons: list[str | None] = []
    self._closing = False
    self.lost: list[str] = []
    self._nodes = [_Agent(node, self._notes) for node in nodes]
    self._of = {task: each for each in self._nodes for task in each.node.tasks}
    for each in self._nodes:
      each.send(
        {
          'host': each.node.host,
          'preload': list(preload),
          'fork': fork,
          'env': dict(env),
          'gpus': {t: count for t, count in each.node.tasks.items() if count},
        }
      )
      each.thread = threading.Thread(
        target=self._read, args=[each], name=each.node.name, daemon=True
      )
      each.thread.start()

  def reserve(self, label: str, index: int) -> loopback.FixedAddress:
    """Takes a port on the node of a task; returns its address.

    Raises:
      NodeLostError: the node's agent has ended or does not answer.
    """
    agent = self._of[f'{label}/{index}']
    agent.send({'do': 'reserve'})
    try:
      address = agent.replies.get(timeout=_ANSWER_SECS)
    except queue.Empty:
      raise NodeLostError(
        f'{agent.node.name} did not answer for {_ANSWER_SECS:.0f} s.'
      ) from None
    if address is None:
      lines = self.reader.read()[-_LAST_LINES:]
      raise NodeLostError('\n'.join([*lines, agent.epitaph()]))
    return loopback.FixedAddress(address)

  def receive(self) -> dict[str, Any] | None:
    return self.channel.receive()[0]

  def start(self, order: wire.Order) -> output.LineReader:
    """Asks for a process; returns its output."""
    agent = self._of[order.task]
    reader, agent.outputs[order.task] = os.pipe()
    agent.send({'do': 'start', 'order': order})
    return output.LineReader(reader)

  def signal(self, task: str, signum: int) -> None:
    """Sends a signal to a task if it runs; SIGKILL to all its session."""
    agent = self._of[task]
    agent.send({'do': 'signal', 'task': task, 'signal': signum})

  def wait(self) -> int:
    """As of a `ZygoteClient`, whose channel would have ended by itself."""
    return 0

  def close(self, ready: bool = True) -> None:
    """Ends all agents, and with them every process on their nodes."""
    del ready  # Each agent knows that of its own zygote.
    if self._closing:
      return
    self._closing = True
    deadline = time.monotonic() + _END_SECS
    for agent in self._nodes:
      with contextlib.suppress(OSError):
        agent.process.stdin.close()
    for agent in self._nodes:
      agent.end(max(deadline - time.monotonic(), 0.1))
      agent.thread.join(_END_SECS)
    os.close(self._notes)

  def _read(self, agent: '_Agent') -> None:
    while (messages := agent.stream.receive()) is not None:
      for message in messages:
        self._take(agent, message)
    self._on_end(agent)

  def _take(self, agent: '_Agent', message: dict[str, Any]) -> None:
    event = message['event']
    if event == 'lines' and message['task'] is None:
      self._note(agent, message['lines'])
    elif event == 'lines':
      _write(agent.outputs[message['task']], message['lines'])
    elif event == 'reserved':
      agent.replies.put(message['address'])
    elif event == 'stop':
      self._stopper()
    elif event == 'ready':
      self._on_ready(message)
    else:
      if event == 'exited':
        os.close(agent.outputs.pop(message['task']))
      self._tell(message)

  def _on_ready(self, message: dict[str, Any]) -> None:
    with self._lock:
      self._reasons.append(message['reason_not_to_fork'])
      if len(self._reasons) < len(self._nodes):
        return
    reason = next(filter(None, self._reasons), None)
    self._tell({**message, 'reason_not_to_fork': reason})

  def _on_end(self, agent: '_Agent') -> None:
    agent.end(_END_SECS)
    # Whoever waits for an address may now say how it ended.
    agent.replies.put(None)
    if self._closing:
      return
    self.lost.append(agent.node.name)
    self._tell(
      {
        'event': 'failed',
        'node': agent.node.name,
        'error': agent.epitaph(),
      }
    )
    # Slurm, or the kernel, has killed them with their agent.
    for task in list(agent.outputs):
      os.close(agent.outputs.pop(task))
      self._tell(
        {'event': 'exited', 'task': task, 'exit_code': -signal.SIGKILL}
      )

  def _tell(self, message: dict[str, Any]) -> None:
    # The launcher may have ended by an error of its own.
    with contextlib.suppress(OSError):
      self._events.send(message)

  def _note(self, agent: '_Agent', lines: Sequence[str]) -> None:
    _write(self._notes, [f'{agent.node.name}: {line}' for line in lines])


class _Agent:
  """The launcher's end of one node's agent.

  Attributes:
    outputs: by task, the writing end of the pipe that has what it prints.
    replies: the addresses that were asked for; None when there is no agent.
  """

  def __init__(self, node: Node, stderr: int):
    self.node = node
    self.outputs: dict[str, int] = {}
    self.replies: queue.Queue[str | None] = queue.Queue()
    self.thread: threading.Thread | None = None
    self.process = subprocess.Popen(
      node.command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=stderr,
      # What is sent to all of a job's script is for the launcher to handle.
      start_new_session=True,
    )
    self.stream = wire.Stream(
      self.process.stdout.fileno(), self.process.stdin.fileno()
    )

  def send(self, message: dict[str, Any]) -> None:
    # If it is gone, its thread says so.
    with contextlib.suppress(OSError):
      self.stream.send(message)

  def end(self, timeout: float) -> None:
    """Waits for its process, which it kills after `timeout` seconds."""
    try:
      self.process.wait(timeout)
    except subprocess.TimeoutExpired:
      self.process.kill()
      self.process.wait()

  def epitaph(self) -> str:
    code = self.process.returncode
    return (
      f'The agent on {self.node.name} has ended'
      f'{f" with exit code {code}" if code else ""}, and all tasks there.'
    )


def _write(pipe: int, lines: Sequence[str]) -> None:
  # Nobody reads any more if the launcher has ended by an error of its own.
  with contextlib.suppress(OSError):
    data = '\n'.join([*lines, '']).encode()
    while data:
      data = data[os.write(pipe, data) :]
