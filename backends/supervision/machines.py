"""Where the tasks of a run are executed; each backend defines this itself."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import launchpad as lp

from backends.process import channels, loopback, messages
from backends.supervision import task_specs
from system import line_reader, stops


class Zygote(Protocol):
  """Starts tasks: a `zygote_client.ZygoteClient`, or an object like it.

  Attributes:
    channel: the connection with the zygote. It is readable when `receive` has a
      message.
    reader: reads what the zygote itself prints.
    ready_secs: seconds from the zygote's start in which it must send
      `messages.Ready`. If it does not, the run fails.
  """

  channel: channels.Channel
  reader: line_reader.LineReader
  ready_secs: float

  def receive(self) -> messages.Message | None:
    """Returns the next message; None if the zygote is gone."""

  def start(self, order: messages.Order) -> line_reader.LineReader:
    """Asks the zygote to start a task's process.

    Returns:
      A reader of what the process prints.
    """

  def signal(self, task: str, signum: int) -> None:
    """Sends a signal to a task's process, if the task runs.

    SIGKILL goes to all processes of the task's session.
    """

  def finish(self, task: str) -> None:
    """Records that a task will not run again."""

  def release(self, task: str) -> None:
    """Forgets a task that has left the run."""

  def wait(self) -> int:
    """Waits until a zygote that is gone has ended; returns its exit code."""

  def close(self, ready: bool, is_over: bool) -> None:
    """Ends the zygote and every process that descends from it.

    Args:
      ready: whether the zygote has sent `messages.Ready`.
      is_over: whether the run is over. It is not over if a signal stopped it:
        another launcher may resume it.
    """


@dataclasses.dataclass(frozen=True)
class Machines:
  """Where the tasks of a run are executed.

  Attributes:
    directory: path of a folder that only this run uses. The path is the same on
      all machines.
    zygote: starts the tasks.
    make_address: called with the label and the index of a task, once for each
      of its addresses; returns the address.
    stopper: `lp.stop()` calls it in a task.
    listener: it is readable when a task has called `lp.stop()`.
    interface: the IP address on which the tasks' Courier servers listen; empty
      for all addresses.
    guards_ports: whether each task keeps other machines off the ports of its
      other servers, such as Reverb's, which listen on all addresses.
    signals: the numbers of the signals that stop the run.
    make_room: called in a separate thread with the names of tasks to be added
      to the run. It returns when there is room for them.
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
