"""The launcher's process, the same for every backend that supervises tasks.

A backend passes a `machines.Machines`, which says where the tasks run. The
launcher turns a program into tasks, starts them there, and supervises them
until all have ended.
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
from backends.supervision import logs as logs_lib
from backends.supervision import machines as machines_lib
from backends.supervision import output, run_tasks, scaling
from backends.supervision import result as result_lib
from backends.supervision import supervisor as supervisor_lib
from run_files.status import TaskState
from system import wakeups as wakeups_lib

# The line about a stop begins with this text when a task called `lp.stop()`.
STOP_CALLED = 'lp.stop() was called'
_FLUSH_SECS = 5.0


def run(
  program: lp.Program | Callable[[], lp.Program],
  machines: machines_lib.Machines,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None,
  resize: config_lib.Resize | None = None,
) -> result_lib.Result:
  """Runs a program to its end; see `this_machine.run` for the arguments.

  When it returns, no process of the run is left. If the run failed, the result
  holds the cause, so that the caller can print it last.
  """
  began = time.monotonic()
  if not isinstance(program, lp.Program):
    program = program()
  supervisor = _supervise(program, machines, config, on_line, resize)
  tasks = supervisor.tasks.all
  return result_lib.Result(
    exit_code=supervisor.stop.exit_code,
    cause=supervisor.stop.cause,
    restarts={task.name: task.restarts for task in tasks},
    killed=tuple(t.name for t in tasks if t.state is TaskState.KILLED),
    wall_time=time.monotonic() - began,
  )


def command_line_flags(exclude: Collection[str] = ()) -> list[str]:
  """Returns the flags that were set on this process's command line.

  Each is one argument, such as `--num_actors=4`.

  Args:
    exclude: names of flags to leave out.
  """
  if not flags.FLAGS.is_parsed():
    return []
  passed = [
    flags.FLAGS[name]
    for name in flags.FLAGS
    # Launchpad would refuse some values of this flag, so it is not passed on.
    if flags.FLAGS[name].present and name not in {'lp_launch_type', *exclude}
  ]
  return [flag.serialize() for flag in passed]


def _supervise(
  program: lp.Program,
  machines: machines_lib.Machines,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None,
  resize: config_lib.Resize | None,
) -> supervisor_lib.Supervisor:
  """Runs the tasks.

  When it returns, no process is left and all lines are written.
  """
  with contextlib.ExitStack() as stack:
    wakeups = wakeups_lib.Wakeups()
    stack.callback(wakeups.close)
    sink = output.Sink(on_line or output.Printer(), wakeups.wake)
    stack.callback(sink.close, _FLUSH_SECS)
    logs = logs_lib.Logs(config.log_dir, sink)
    stack.callback(logs.close)
    tasks = run_tasks.RunTasks(machines, config, logs, command_line_flags())
    tasks.add(program)
    stack.enter_context(wakeups.handling(machines.signals))
    supervisor = supervisor_lib.Supervisor(
      tasks,
      machines.zygote,
      config,
      logs.open('launcher', 0, 'launcher'),
      logs.open('zygote', 0, 'zygote'),
    )
    stack.callback(supervisor.close)
    stack.callback(_close_zygote, supervisor, machines.zygote)
    supervisor.watch(
      machines.listener, lambda: _on_stop_request(supervisor, machines.listener)
    )
    signals = wakeups_lib.Signals()
    supervisor.watch(
      wakeups, lambda: _on_wakeup(supervisor, wakeups, signals, sink)
    )
    if config.log_dir is not None:
      scaler = scaling.Scaler(config.log_dir, resize, machines.make_room)
      supervisor.every_second = lambda: scaler.look(supervisor)
    supervisor.run()
    return supervisor


def _close_zygote(
  supervisor: supervisor_lib.Supervisor, zygote: machines_lib.Zygote
) -> None:
  # After a signal, another launcher may resume the run.
  zygote.close(supervisor.ready, is_over=supervisor.stop.exit_code in (0, 1))


def _on_stop_request(
  supervisor: supervisor_lib.Supervisor, listener: loopback.StopListener
) -> None:
  listener.clear()
  supervisor.stop.begin(0, STOP_CALLED)


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
      supervisor.stop.kill_all('Ctrl-C was pressed again')
    else:
      name = signal.Signals(signum).name
      supervisor.stop.begin(128 + signum, f'The launcher received {name}')
      if signum == signal.SIGINT:
        supervisor.note('Press Ctrl-C again to kill all processes at once.')
  if sink.error is not None:
    lines = ''.join(traceback.format_exception(sink.error)).splitlines()
    supervisor.stop.fail(result_lib.Cause('launcher', None, tuple(lines)))
