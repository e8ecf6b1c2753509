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
from backends.supervision import output

_ANSWER_SECS = 120.0
_END_SECS = 15.0
_POLL_SECS = 0.2
_LAST_LINES = 10

AgentClient = node_client.AgentClient


class NodeLostError(ConnectionError):
  """A node's agent has ended, or does not answer."""


class Fleet:
  """Agents on nodes; has what a `launcher.Zygote` has.

  A thread for each node takes in what its agent says, and puts it where a
  zygote of this machine would have put it.
  """

  # Of the agents' imports; `reach` has a deadline of its own.
  ready_secs = 3600.0

  def __init__(
    self,
    nodes: Sequence[node_client.Node],
    stopper: loopback.FifoStopper,
    preload: Sequence[str],
    fork: bool,
    env: Mapping[str, str | None],
  ):
    """Reaches for the agents; `ready` is said when all have imported.

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
    self.reader = output.LineReader(pipe)
    self._lock = threading.Lock()
    self._not_ready = {node.name for node in nodes}
    self._reasons: list[str] = []
    self._closing = False
    self.lost: list[str] = []
    self._of: dict[str, AgentClient] = {}
    for node in nodes:
      self.add(node)

  def add(self, node: node_client.Node, is_extra: bool = False) -> None:
    """Reaches for the agent of one more node.

    Args:
      node: the node.
      is_extra: whether the run can do without, if there never is an agent.
    """
    agent = AgentClient(node)
    self._of.update(dict.fromkeys(node.tasks, agent))
    agent.thread = threading.Thread(
      target=self._serve,
      args=[agent, is_extra],
      name=node.name,
      daemon=True,
    )
    agent.thread.start()

  def wait_for(self, tasks: Sequence[str]) -> None:
    """Waits until there are agents on the nodes of tasks.

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
      NodeLostError: the node's agent has ended or does not answer.
    """
    agent = self._of[f'{label}/{index}']
    agent.ask()
    address = self._answer(agent)
    if address is None:
      lines = self.reader.read()[-_LAST_LINES:]
      raise NodeLostError('\n'.join([*lines, agent.epitaph]))
    return address

  def _answer(self, agent: AgentClient) -> loopback.FixedAddress | None:
    while True:
      with contextlib.suppress(queue.Empty):
        return agent.replies.get(timeout=_POLL_SECS)
      if agent.is_mute(_ANSWER_SECS):
        raise NodeLostError(
          f'{agent.node.name} did not answer for {_ANSWER_SECS:.0f} s.'
        )

  def receive(self) -> dict[str, Any] | None:
    message = self.channel.receive()[0]
    if message is not None and message['event'] == 'placed':
      # None if they have left the run since.
      agent = self._of.get(message['tasks'][0])
      known = [] if agent is None else agent.addresses
      # An address that was asked for since is on the new place already.
      for address, text in zip(known, message['addresses'], strict=False):
        address.move(text)
    return message

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

  def release(self, task: str) -> None:
    """Ends the agent of a node whose only task has left the run."""
    agent = self._of.pop(task)
    agent.hang_up()
    if agent.is_reaching:
      agent.node.free()

  def finish(self, task: str) -> None:
    """Takes note that a task needs its node no more, which may then be lost."""
    self._of[task].finished.add(task)

  def wait(self) -> int:
    """As of a `ZygoteClient`, whose channel would have ended by itself."""
    return 0

  def close(self, ready: bool = True, is_over: bool = True) -> None:
    """Ends all agents, and with them every process on their nodes.

    Args:
      ready: of no use here: each agent knows that of its own zygote.
      is_over: whether agents are told that there is nothing more to come.
    """
    del ready
    if self._closing:
      return
    self._closing = True
    deadline = time.monotonic() + _END_SECS
    agents = set(self._of.values())
    for agent in agents:
      agent.hang_up(is_over)
    for agent in agents:
      if agent.is_reaching:
        continue  # For one that would be told to leave.
      agent.thread.join(max(deadline - time.monotonic(), 0.1))
      agent.end(0.1)
      agent.thread.join(_END_SECS)
    os.close(self._notes)

  def _serve(self, agent: AgentClient, is_extra: bool) -> None:
    """Talks with one node's agents, one after the other."""
    while True:
      try:
        agent.reach(self._config, self._notes)
      except links.NoAgentError as e:
        # `wait_for` says it to whoever wants more.
        agent.is_released |= is_extra and not agent.up.is_set()
        self._give_up(agent, str(e))
        return
      if agent.is_released:
        # Another of that name may wait for an agent, and this one comes again.
        agent.hang_up(is_over=False)
        agent.end(_END_SECS)
        return
      self._tell_if_placed(agent)
      while (messages := agent.receive()) is not None:
        for message in messages:
          self._take(agent, message)
      agent.end(_END_SECS)
      if self._closing or agent.is_released or agent.is_idle:
        # Whoever waits for an address may now say how it ended.
        agent.replies.put(None)
        agent.node.free()
        return
      if not agent.node.returns:
        self._give_up(agent, agent.epitaph)
        return
      self._tell(
        {
          'event': 'lost',
          'tasks': list(agent.node.tasks),
          'error': agent.epitaph,
        }
      )
      agent.close_outputs()

  def _give_up(self, agent: AgentClient, error: str) -> None:
    agent.epitaph = error
    agent.replies.put(None)
    agent.up.set()
    if self._closing or agent.is_released or agent.is_idle:
      return
    self.lost.append(agent.node.name)
    self._tell({'event': 'failed', 'node': agent.node.name, 'error': error})
    # Slurm, or the kernel, has killed them with their agent.
    for task in agent.close_outputs():
      self._tell(
        {'event': 'exited', 'task': task, 'exit_code': -signal.SIGKILL}
      )

  def _take(self, agent: AgentClient, message: dict[str, Any]) -> None:
    event = message['event']
    if event == 'lines' and message['task'] is None:
      self._note(agent, message['lines'])
    elif event == 'lines':
      _write(agent.outputs[message['task']], message['lines'])
    elif event == 'reserved':
      agent.on_reserved(message['address'])
      self._tell_if_placed(agent)
    elif event == 'stop':
      self._stopper()
    elif event == 'ready':
      self._on_ready(agent, message)
    else:
      if event == 'exited':
        os.close(agent.outputs.pop(message['task']))
      self._tell(message)

  def _tell_if_placed(self, agent: AgentClient) -> None:
    addresses = agent.moved()
    if addresses is not None:
      tasks = list(agent.node.tasks)
      self._tell({'event': 'placed', 'tasks': tasks, 'addresses': addresses})

  def _on_ready(self, agent: AgentClient, message: dict[str, Any]) -> None:
    with self._lock:
      if agent.node.name not in self._not_ready:
        return
      self._not_ready.discard(agent.node.name)
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

  def _note(self, agent: AgentClient, lines: Sequence[str]) -> None:
    _write(self._notes, [f'{agent.node.name}: {line}' for line in lines])


def _write(pipe: int, lines: Sequence[str]) -> None:
  # Nobody reads any more if the launcher has ended by an error of its own.
  with contextlib.suppress(OSError):
    data = '\n'.join([*lines, '']).encode()
    while data:
      data = data[os.write(pipe, data) :]
