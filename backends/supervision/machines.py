"""Where the tasks of a run live: what one backend has that others do not."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import launchpad as lp

from backends.process import loopback, messages
from backends.supervision import tasks as tasks_lib
from system import line_reader, stops


class Zygote(Protocol):
  """Starts tasks: a `zygote_client.ZygoteClient`, or what acts like one.

  Attributes:
    channel: readable when `receive` has something.
    reader: what it prints itself.
    ready_secs: by when it must have said `ready`.
  """

  channel: messages.Channel
  reader: line_reader.LineReader
  ready_secs: float

  def receive(self) -> dict | None: ...

  def start(self, order: messages.Order) -> line_reader.LineReader: ...

  def signal(self, task: str, signum: int) -> None: ...

  def finish(self, task: str) -> None: ...

  def release(self, task: str) -> None: ...

  def wait(self) -> int: ...

  def close(self, ready: bool, is_over: bool) -> None: ...


@dataclasses.dataclass(frozen=True)
class Machines:
  """Where the tasks of a run live.

  Attributes:
    directory: a folder of this run's own, at the same path on all of them.
    zygote: starts the tasks.
    make_address: called with label and index for each address of a task.
    stopper: what `lp.stop()` calls in a task.
    listener: hears of it.
    interface: the address that servers listen on where they can be told; empty
      for all.
    guards_ports: whether the others hear this machine alone all the same.
    signals: what stops the run.
    make_room: called, in a thread of its own, with the names of tasks that are
      to be started beside those that run; returns when there is room for them.
  """

  directory: str
  zygote: Zygote
  make_address: Callable[[str, int], lp.AbstractAddressBuilder]
  stopper: tasks_lib.ProgramStopper
  listener: loopback.StopListener
  _: dataclasses.KW_ONLY
  interface: str = ''
  guards_ports: bool = False
  signals: Sequence[int] = stops.SIGNALS
  make_room: Callable[[Sequence[str]], None] = lambda names: None
