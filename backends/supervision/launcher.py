"""The launcher's process: what every supervised backend does alike.

A backend says where they are, `machines.Machines`; here a program becomes tasks
there and is watched over until it ends.
"""

import contextlib
import signal
import time
import traceback
from collections.abc import Callable, Collection

import launchpad as lp
from absl import flags

from backends.process import loopback
from backends.supervision import config as config_lib
from backends.supervision import machines as machines_lib
from backends.supervision import output, run_tasks, scaling
from backends.supervision import supervisor as supervisor_lib
from backends.supervision import wakeups as wakeups_lib

# Begins the note of a run that stops because one of its tasks has it stop.
STOP_CALLED = 'lp.stop() was called'
_FLUSH_SECS = 5.0


def run(
  program: lp.Program | Callable[[], lp.Program],
  machines: machines_lib.Machines,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None,
  resize: scaling.Resize | None = None,
) -> config_lib.Result:
  """Runs a program to its end; see `this_machine.run`.

  At the end no process of it is left, and what a failure's cause is stands in
  the result, for the caller to print last.
  """
  began = time.monotonic()
  if not isinstance(program, lp.Program):
    program = program()
  supervisor = _supervise(program, machines, config, on_line, resize)
  return config_lib.Result(
    exit_code=supervisor.exit_code,
    cause=supervisor.cause,
    restarts=supervisor.restarts,
    killed=supervisor.killed,
    wall_time=time.monotonic() - began,
  )


def command_line_flags(exclude: Collection[str] = ()) -> list[str]:
  """Returns the flags on this process's command line, each as one argument.

  Args:
    exclude: names of flags to leave out.
  """
  if not flags.FLAGS.is_parsed():
    return []
  passed = [
    flags.FLAGS[name]
    for name in flags.FLAGS
    # A launcher may know more launch types than Launchpad's own flag takes.
    if flags.FLAGS[name].present and name not in {'lp_launch_type', *exclude}
  ]
  return [flag.serialize() for flag in passed]


def _supervise(
  program: lp.Program,
  machines: machines_lib.Machines,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None,
  resize: scaling.Resize | None,
) -> supervisor_lib.Supervisor:
  """Runs the tasks; returns with no process left and all lines written."""
  with contextlib.ExitStack() as stack:
    wakeups = wakeups_lib.Wakeups()
    stack.callback(wakeups.close)
    sink = output.Sink(on_line or output.Printer(), wakeups.wake)
    stack.callback(sink.close, _FLUSH_SECS)
    logs = output.Logs(config.log_dir, sink)
    stack.callback(logs.close)
    tasks = run_tasks.RunTasks(machines, config, logs, command_line_flags())
    runs = tasks.add(program)
    stack.enter_context(wakeups.handling(machines.signals))
    supervisor = supervisor_lib.Supervisor(
      runs,
      machines.zygote,
      config,
      logs.open('launcher', 0, 'launcher'),
      logs.open('zygote', 0, 'zygote'),
      tasks,
    )
    stack.callback(supervisor.close)
    # After a signal the run may go on, by another launcher.
    stack.callback(
      lambda: machines.zygote.close(
        supervisor.ready, supervisor.exit_code in (0, 1)
      )
    )
    supervisor.watch(
      machines.listener, lambda: _on_stop_request(supervisor, machines.listener)
    )
    signals = wakeups_lib.Signals()
    supervisor.watch(
      wakeups, lambda: _on_wakeup(supervisor, wakeups, signals, sink)
    )
    if config.log_dir is not None:
      scaler = scaling.Scaler(config.log_dir, resize, machines.make_room)
      supervisor.every_second = lambda: scaler.look(supervisor, tasks)
    supervisor.run()
    return supervisor


def _on_stop_request(
  supervisor: supervisor_lib.Supervisor, listener: loopback.StopListener
) -> None:
  listener.clear()
  supervisor.stop(0, STOP_CALLED)


def _on_wakeup(
  supervisor: supervisor_lib.Supervisor,
  wakeups: wakeups_lib.Wakeups,
  signals: wakeups_lib.Signals,
  sink: output.Sink,
) -> None:
  for signum in wakeups.take():
    if not signals.counts(signum):
      continue
    if signals.interrupts > 1:
      supervisor.kill_all('Interrupted again')
    else:
      supervisor.stop(128 + signum, f'{signal.Signals(signum).name} came')
      if signum == signal.SIGINT:
        supervisor.note('Once more Ctrl-C kills at once.')
  if sink.error is not None:
    lines = ''.join(traceback.format_exception(sink.error)).splitlines()
    supervisor.fail(config_lib.Cause('launcher', None, tuple(lines)))
