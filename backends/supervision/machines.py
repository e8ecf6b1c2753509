"""Where the tasks of a run live: what one backend has that others do not."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import launchpad as lp

from backends.process import channels, loopback, messages
from backends.supervision import task_specs
from system import line_reader, stops


class Zygote(Protocol):
  """Starts tasks: a `zygote_client.ZygoteClient`, or what acts like one.

  Attributes:
    channel: readable when `receive` has a message.
    reader: reads what the zygote itself prints.
    ready_secs: seconds by which it must have sent `messages.Ready`.
  """

  channel: channels.Channel
  reader: line_reader.LineReader
  ready_secs: float

  def receive(self) -> messages.Message | None:
    """Returns its next message; None if it is gone."""

  def start(self, order: messages.Order) -> line_reader.LineReader:
    """Asks for a process; returns the reader of what that prints."""

  def signal(self, task: str, signum: int) -> None:
    """Sends a signal to a task if it runs; SIGKILL to its whole session."""

  def finish(self, task: str) -> None:
    """Takes note that a task never gets a process again."""

  def release(self, task: str) -> None:
    """Forgets a task that has left the run."""

  def wait(self) -> int:
    """Waits for the end of a zygote that is gone; returns its exit code."""

  def close(self, ready: bool, is_over: bool) -> None:
    """Ends it and every process that descends from it.

    Args:
      ready: whether it has sent `messages.Ready`.
      is_over: whether the run is over. After a signal another launcher may go
        on with it.
    """


@dataclasses.dataclass(frozen=True)
class Machines:
  """Where the tasks of a run live.

  Attributes:
    directory: path of a folder that this run alone uses, the same on all
      machines.
    zygote: starts the tasks.
    make_address: called with label and index for each address of a task.
    stopper: called by `lp.stop()` in a task.
    listener: readable when a task has called `lp.stop()`.
    interface: the address that the tasks' servers listen on if they let one
      choose it; empty for all.
    guards_ports: whether tasks keep other machines off the ports of the other
      servers, which listen on all addresses.
    signals: the signals that stop the run.
    make_room: called, in a thread of its own, with the names of tasks that are
      to be started beside those that run; returns when there is room for them.
  """

  directory: str
  zygote: Zygote
  make_address: Callable[[str, int], lp.AbstractAddressBuilder]
  stopper: task_specs.ProgramStopper
  listener: loopback.StopListener
  _: dataclasses.KW_ONLY
  interface: str = ''
  guards_ports: bool = False
  signals: Sequence[int] = stops.SIGNALS
  make_room: Callable[[Sequence[str]], None] = lambda names: None
