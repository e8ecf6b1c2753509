"""Runs a Launchpad program as supervised processes of this machine.

result = local.run(make_program, config=local.LocalConfig(preload=['jax']))
sys.exit(result.exit_code)
"""

import collections
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence

import launchpad as lp
from absl import flags

from backends import config as config_lib
from backends import loopback, output, supervisor, task_run, wire, zygote_client
from backends import tasks as tasks_lib

Cause = config_lib.Cause
LocalConfig = config_lib.LocalConfig
RestartPolicy = config_lib.RestartPolicy
Result = config_lib.Result

_FLUSH_SECS = 5.0


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  config: LocalConfig | None = None,
  on_line: output.OnLine | None = None,
) -> Result:
  """Runs a program until all its tasks have ended or it is stopped.

  Called in the main thread, it stops the program on SIGINT and SIGTERM; in
  another thread it leaves signals alone. If the run fails, its cause is the
  last thing written to standard error.

  Args:
    program: the program, built; or a function that builds it, called while
      `config.preload` is being imported in another process.
    config: how to run it.
    on_line: called with label, index and text of each line that a task
      prints, in a thread of its own; by default it is printed.

  Returns:
    How it ended.

  Raises:
    RuntimeError: a node cannot be pickled; no task was started.
    TypeError: a node has no function to run.
    ValueError: the program is empty.
  """
  config = config or LocalConfig()
  began = time.monotonic()
  with contextlib.ExitStack() as stack:
    directory = tempfile.mkdtemp(prefix='launchpad-local-')
    stack.callback(shutil.rmtree, directory, ignore_errors=True)
    listener = loopback.StopListener(os.path.join(directory, 'stop'))
    stack.callback(listener.close)
    ports = loopback.ReservedPorts()
    stack.callback(ports.close)
    zygote = zygote_client.ZygoteClient(
      directory, config.preload, config.start == 'fork', config.default_env
    )
    stack.callback(zygote.discard)
    tasks = tasks_lib.from_program(
      program if isinstance(program, lp.Program) else program(),
      program_stopper=listener.stopper,
      make_address=ports.reserve,
      env=config.task_env,
    )
    orders = [_order(task, directory) for task in tasks]
    boss = _supervise(tasks, orders, config, on_line, listener, zygote)
  if boss.cause is not None:
    print(boss.cause, file=sys.stderr, flush=True)
  return Result(
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
    flags=_flags_given(),
    env=zygote_client.task_environment(task.env),
  )


def _flags_given() -> list[str]:
  """The flags on this process's command line, for the tasks to parse too."""
  if not flags.FLAGS.is_parsed():
    return []
  given = [
    flags.FLAGS[name]
    for name in flags.FLAGS
    # A launcher may know more launch types than Launchpad's own flag takes.
    if flags.FLAGS[name].present and name != 'lp_launch_type'
  ]
  return [flag.serialize() for flag in given]


def _supervise(
  tasks: Sequence[tasks_lib.Task],
  orders: Sequence[wire.Order],
  config: LocalConfig,
  on_line: output.OnLine | None,
  listener: loopback.StopListener,
  zygote: zygote_client.ZygoteClient,
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
    stack.enter_context(wakeups.handling_signals())
    boss = supervisor.Supervisor(runs, zygote, config, launcher_log, zygote_log)
    stack.callback(boss.close)
    stack.callback(lambda: zygote.close(boss.ready))
    boss.watch(listener, lambda: _on_stop_request(boss, listener))
    boss.watch(wakeups, lambda: _on_wakeup(boss, wakeups, sink))
    boss.run()
    return boss


def _on_stop_request(
  boss: supervisor.Supervisor, listener: loopback.StopListener
) -> None:
  listener.clear()
  boss.stop(0, 'lp.stop() was called')


def _on_wakeup(
  boss: supervisor.Supervisor, wakeups: '_Wakeups', sink: output.Sink
) -> None:
  for signum in wakeups.take():
    boss.on_signal(signum)
  if sink.error is not None:
    lines = traceback.format_exception(sink.error)
    boss.fail(Cause('launcher', None, tuple(''.join(lines).splitlines())))


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
  def handling_signals(self) -> Iterator[None]:
    """Takes in SIGINT and SIGTERM meanwhile, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
      yield
      return
    previous = {}
    for signum in (signal.SIGINT, signal.SIGTERM):
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
