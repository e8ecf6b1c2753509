"""The launcher's process: what every supervised backend does alike.

A backend says on which machines, `Machines`; here a program becomes tasks there
and is watched over until it ends.
"""

import collections
import contextlib
import dataclasses
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

import launchpad as lp
from absl import flags

from backends import config as config_lib
from backends import loopback, output, supervisor, task_run, wire, zygote_client
from backends import tasks as tasks_lib

# Begins the note of a run that stops because one of its tasks has it stop.
STOP_CALLED = 'lp.stop() was called'
_FLUSH_SECS = 5.0


class Zygote(Protocol):
  """Starts tasks: a `zygote_client.ZygoteClient`, or what acts like one.

  Attributes:
    channel: readable when `receive` has something.
    reader: what it prints itself.
  """

  channel: wire.Channel
  reader: output.LineReader

  def receive(self) -> dict | None: ...

  def start(self, order: wire.Order) -> output.LineReader: ...

  def signal(self, task: str, signum: int) -> None: ...

  def wait(self) -> int: ...

  def close(self, ready: bool) -> None: ...


@dataclasses.dataclass(frozen=True)
class Machines:
  """Where the tasks of a run live.

  Attributes:
    directory: a folder of this run's own, at the same path on all of them.
    zygote: starts the tasks.
    make_address: called with label and index for each address of a task.
    stopper: what `lp.stop()` calls in a task.
    listener: hears of it.
    signals: what stops the run.
  """

  directory: str
  zygote: Zygote
  make_address: Callable[[str, int], lp.AbstractAddressBuilder]
  stopper: tasks_lib.ProgramStopper
  listener: loopback.StopListener
  signals: Sequence[int] = (signal.SIGINT, signal.SIGTERM)


def run(
  program: lp.Program | Callable[[], lp.Program],
  machines: Machines,
  config: config_lib.LocalConfig,
  on_line: output.OnLine | None,
) -> config_lib.Result:
  """Runs a program to its end; see `local.run`.

  At the end no process of it is left, and what a failure's cause is stands in
  the result, for the caller to print last.
  """
  began = time.monotonic()
  tasks = tasks_lib.from_program(
    program if isinstance(program, lp.Program) else program(),
    program_stopper=machines.stopper,
    make_address=machines.make_address,
    env=config.task_env,
  )
  orders = [_order(task, machines.directory) for task in tasks]
  boss = _supervise(tasks, orders, config, on_line, machines)
  return config_lib.Result(
    exit_code=boss.exit_code,
    cause=boss.cause,
    restarts=boss.restarts,
    killed=boss.killed,
    wall_time=time.monotonic() - began,
  )


def _order(task: tasks_lib.Task, directory: str) -> wire.Order:
  path = os.path.join(directory, task.file_stem)
  tasks_lib.save_function(task, f'{path}.pkl')
  return wire.Order(
    task=task.name,
    function_path=f'{path}.pkl',
    error_path=f'{path}.error',
    flags=flags_given(),
    env=zygote_client.task_environment(task.env),
  )


def flags_given(but: Collection[str] = ()) -> list[str]:
  """The flags on this process's command line, for others to parse too.

  Args:
    but: names of flags to leave out.
  """
  if not flags.FLAGS.is_parsed():
    return []
  given = [
    flags.FLAGS[name]
    for name in flags.FLAGS
    # A launcher may know more launch types than Launchpad's own flag takes.
    if flags.FLAGS[name].present and name not in {'lp_launch_type', *but}
  ]
  return [flag.serialize() for flag in given]


def _supervise(
  tasks: Sequence[tasks_lib.Task],
  orders: Sequence[wire.Order],
  config: config_lib.LocalConfig,
  on_line: output.OnLine | None,
  machines: Machines,
) -> supervisor.Supervisor:
  """Runs the tasks; returns with no process left and all lines written."""
  with contextlib.ExitStack() as stack:
    wakeups = _Wakeups()
    stack.callback(wakeups.close)
    sink = output.Sink(on_line or output.Printer(), wakeups.wake)
    stack.callback(sink.close, _FLUSH_SECS)
    logs = output.Logs(config.log_dir, sink)
    stack.callback(logs.close)
    runs = [
      task_run.TaskRun(
        task=task,
        order=order,
        log=logs.open(task.label, task.index, task.file_stem),
        budget=config_lib.RestartBudget(config.restart.get(task.label)),
      )
      for task, order in zip(tasks, orders, strict=True)
    ]
    launcher_log = logs.open('launcher', 0, 'launcher')
    zygote_log = logs.open('zygote', 0, 'zygote')
    stack.enter_context(wakeups.handling(machines.signals))
    boss = supervisor.Supervisor(
      runs, machines.zygote, config, launcher_log, zygote_log
    )
    stack.callback(boss.close)
    stack.callback(lambda: machines.zygote.close(boss.ready))
    boss.watch(
      machines.listener, lambda: _on_stop_request(boss, machines.listener)
    )
    boss.watch(wakeups, lambda: _on_wakeup(boss, wakeups, sink))
    boss.run()
    return boss


def _on_stop_request(
  boss: supervisor.Supervisor, listener: loopback.StopListener
) -> None:
  listener.clear()
  boss.stop(0, STOP_CALLED)


def _on_wakeup(
  boss: supervisor.Supervisor, wakeups: '_Wakeups', sink: output.Sink
) -> None:
  for signum in wakeups.take():
    boss.on_signal(signum)
  if sink.error is not None:
    lines = ''.join(traceback.format_exception(sink.error)).splitlines()
    boss.fail(config_lib.Cause('launcher', None, tuple(lines)))


class _Wakeups:
  """What signal handlers and other threads have for the loop."""

  def __init__(self):
    self._signals = collections.deque()
    self._reader, self._writer = os.pipe()
    os.set_blocking(self._reader, False)
    os.set_blocking(self._writer, False)

  def fileno(self) -> int:
    return self._reader

  def wake(self) -> None:
    # A full pipe wakes the loop as well.
    with contextlib.suppress(BlockingIOError):
      os.write(self._writer, b'w')

  def take(self) -> list[int]:
    """Returns the signals that came since the last call."""
    with contextlib.suppress(BlockingIOError):
      os.read(self._reader, 4096)
    signals = []
    while self._signals:
      signals.append(self._signals.popleft())
    return signals

  @contextlib.contextmanager
  def handling(self, signals: Sequence[int]) -> Iterator[None]:
    """Takes in signals meanwhile, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
      yield
      return
    previous = {}
    for signum in signals:
      # Whoever started this with a signal ignored (nohup, a shell's `&`) meant
      # it.
      if signal.getsignal(signum) is not signal.SIG_IGN:
        previous[signum] = signal.signal(signum, self._on_signal)
    try:
      yield
    finally:
      for signum, handler in previous.items():
        signal.signal(signum, handler or signal.SIG_DFL)

  def close(self) -> None:
    os.close(self._reader)
    os.close(self._writer)

  def _on_signal(self, signum: int, frame: object) -> None:
    del frame
    self._signals.append(signum)
    self.wake()
