"""The launcher's process: what every supervised backend does alike.

A backend says where they are, `machines.Machines`; here a program becomes tasks
there and is watched over until it ends.
"""

import collections
import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence

import launchpad as lp
from absl import flags

from backends import config as config_lib
from backends import loopback, machines, output, roster, scaling, supervisor

# Begins the note of a run that stops because one of its tasks has it stop.
STOP_CALLED = 'lp.stop() was called'
_FLUSH_SECS = 5.0


def run(
  program: lp.Program | Callable[[], lp.Program],
  where: machines.Machines,
  config: config_lib.LocalConfig,
  on_line: output.OnLine | None,
  resize: scaling.Resize | None = None,
) -> config_lib.Result:
  """Runs a program to its end; see `local.run`.

  At the end no process of it is left, and what a failure's cause is stands in
  the result, for the caller to print last.
  """
  began = time.monotonic()
  if not isinstance(program, lp.Program):
    program = program()
  boss = _supervise(program, where, config, on_line, resize)
  return config_lib.Result(
    exit_code=boss.exit_code,
    cause=boss.cause,
    restarts=boss.restarts,
    killed=boss.killed,
    wall_time=time.monotonic() - began,
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
  program: lp.Program,
  where: machines.Machines,
  config: config_lib.LocalConfig,
  on_line: output.OnLine | None,
  resize: scaling.Resize | None,
) -> supervisor.Supervisor:
  """Runs the tasks; returns with no process left and all lines written."""
  with contextlib.ExitStack() as stack:
    wakeups = _Wakeups()
    stack.callback(wakeups.close)
    sink = output.Sink(on_line or output.Printer(), wakeups.wake)
    stack.callback(sink.close, _FLUSH_SECS)
    logs = output.Logs(config.log_dir, sink)
    stack.callback(logs.close)
    tasks = roster.Roster(where, config, logs, flags_given())
    runs = tasks.enlist(program)
    stack.enter_context(wakeups.handling(where.signals))
    boss = supervisor.Supervisor(
      runs,
      where.zygote,
      config,
      logs.open('launcher', 0, 'launcher'),
      logs.open('zygote', 0, 'zygote'),
      tasks,
    )
    stack.callback(boss.close)
    stack.callback(lambda: where.zygote.close(boss.ready))
    boss.watch(where.listener, lambda: _on_stop_request(boss, where.listener))
    boss.watch(wakeups, lambda: _on_wakeup(boss, wakeups, sink))
    if config.log_dir is not None:
      scaler = scaling.Scaler(config.log_dir, resize, where.make_room)
      boss.every_second = lambda: scaler.look(boss, tasks)
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
