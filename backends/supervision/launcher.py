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
from backends.supervision import (
  machines,
  output,
  run_tasks,
  scaling,
  supervisor,
)
from backends.supervision import wakeups as wakeups_lib

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
    wakeups = wakeups_lib.Wakeups()
    stack.callback(wakeups.close)
    sink = output.Sink(on_line or output.Printer(), wakeups.wake)
    stack.callback(sink.close, _FLUSH_SECS)
    logs = output.Logs(config.log_dir, sink)
    stack.callback(logs.close)
    tasks = run_tasks.Roster(where, config, logs, flags_given())
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
    # After a signal the run may go on, by another launcher.
    stack.callback(
      lambda: where.zygote.close(boss.ready, boss.exit_code in (0, 1))
    )
    boss.watch(where.listener, lambda: _on_stop_request(boss, where.listener))
    signals = wakeups_lib.Signals()
    boss.watch(wakeups, lambda: _on_wakeup(boss, wakeups, signals, sink))
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
  boss: supervisor.Supervisor,
  wakeups: wakeups_lib.Wakeups,
  signals: wakeups_lib.Signals,
  sink: output.Sink,
) -> None:
  for signum in wakeups.take():
    if not signals.counts(signum):
      continue
    if signals.interrupts > 1:
      boss.kill_all('Interrupted again')
    else:
      boss.stop(128 + signum, f'{signal.Signals(signum).name} came')
      if signum == signal.SIGINT:
        boss.note('Once more Ctrl-C kills at once.')
  if sink.error is not None:
    lines = ''.join(traceback.format_exception(sink.error)).splitlines()
    boss.fail(config_lib.Cause('launcher', None, tuple(lines)))
