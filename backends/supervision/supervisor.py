"""Watches over the tasks of one run: starts, restarts, stops and reports."""

import dataclasses
import math
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from backends.supervision import config as config_lib
from backends.supervision import (
  lost_nodes,
  machines,
  output,
  run_tasks,
  task_run,
)
from run_files import status
from system import limits

_TICK_SECS = 0.1
_STATUS_SECS = 1.0


class Supervisor:
  """The loop of one run; everything in it happens in the caller's thread."""

  def __init__(
    self,
    runs: Sequence[task_run.TaskRun],
    zygote: machines.Zygote,
    config: config_lib.RunConfig,
    launcher_log: output.TaskLog,
    zygote_log: output.TaskLog,
    tasks: run_tasks.RunTasks,
  ):
    self._tasks = tasks
    self._lost_nodes = lost_nodes.LostNodes(self, tasks)
    self.runs = {run.task.name: run for run in runs}
    self._zygote = zygote
    self._config = config
    self._log = launcher_log
    self._zygote_log = zygote_log
    self._selector = selectors.DefaultSelector()
    self._readers = output.Readers(self._selector)
    self._stop: config_lib.StopClock | None = None
    self._began = time.monotonic()
    self._status_at = 0.0
    self._status = status.Writer(config.log_dir, self.note)
    self._state = 'starting'
    self.ready = False
    self.every_second: Callable[[], None] = lambda: None
    self.exit_code = 0
    self.cause: config_lib.Cause | None = None
    self.watch(zygote.channel, self._on_zygote)
    self._readers.add(zygote.reader, zygote_log)

  @property
  def killed(self) -> tuple[str, ...]:
    return tuple(n for n, run in self.runs.items() if run.state == 'killed')

  @property
  def restarts(self) -> dict[str, int]:
    return {name: run.restarts for name, run in self.runs.items()}

  def watch(self, readable: Any, callback: Any) -> None:
    """Has the loop call `callback()` whenever there is something to read."""
    self._selector.register(readable, selectors.EVENT_READ, callback)

  def run(self) -> None:
    """Returns when no task is left to run."""
    while not all(run.over for run in self.runs.values()):
      for key, _ in self._selector.select(_TICK_SECS):
        key.data()
      self._on_time()

  @property
  def is_stopping(self) -> bool:
    return self._stop is not None

  def add(self, run: task_run.TaskRun) -> None:
    """Starts one more task."""
    self.runs[run.task.name] = run
    if self.ready:
      self.start(run)

  def dismiss(self, name: str) -> None:
    """Has a task stop and leave the run."""
    run = self.runs[name]
    if run.alive:
      self.ask_to_stop(run, 'leaving')
    else:
      self._forget(run)

  def note(self, text: str) -> None:
    """Writes a line of the launcher's own."""
    self._log.write([text])

  def close(self) -> None:
    """Takes in the last lines; call it once all processes are dead."""
    self._readers.close()
    self._selector.close()
    self._state = 'ended'
    self._write_status()

  def stop(self, exit_code: int, why: str) -> None:
    """Begins to stop all tasks, unless that has begun already.

    Args:
      exit_code: that of the run, if all went well before.
      why: a sentence's beginning for the log.
    """
    self.exit_code = self.exit_code or exit_code
    if self._stop is not None:
      return
    self._state = 'stopping'
    labels = [run.task.label for run in self.runs.values()]
    stages = config_lib.stop_stages(labels, self._config.stop_order)
    self._stop = config_lib.StopClock(stages, self._config.grace)
    order = ', then '.join(' and '.join(sorted(stage)) for stage in stages)
    self.note(f'{why}: stopping {order}.')
    for run in self.runs.values():
      if run.state in ('waiting', 'backoff', 'lost'):
        run.state = 'stopped'
        self._zygote.finish(run.task.name)

  def fail(self, cause: config_lib.Cause) -> None:
    """Keeps the first cause and stops the run."""
    if self.cause is None:
      logs = [self._zygote_log, *(run.log for run in self.runs.values())]
      said = [*cause.lines, *(line for log in logs for line in log.refusals)]
      lines = (*cause.lines, *limits.advice(said))
      self.cause = dataclasses.replace(cause, lines=lines)
    self.stop(1, f'{cause.task} failed')

  def _on_time(self) -> None:
    now = time.monotonic()
    if not self.ready and now - self._began > self._zygote.ready_secs:
      text = (
        f'Importing {", ".join(self._config.preload)} took over '
        f"{self._zygote.ready_secs:.0f} s. Preload less, or use start='spawn'."
      )
      self.fail(config_lib.Cause('zygote', None, (text,)))
    for run in self.runs.values():
      if run.state == 'backoff' and now >= run.restart_at:
        run.restarts += 1
        self.start(run)
      elif run.alive and now >= run.kill_at:
        run.kill_at = math.inf
        self._zygote.signal(run.task.name, signal.SIGKILL)
    if self._stop is not None:
      self._advance_stop()
    if now >= self._status_at:
      self._write_status()
      self.every_second()

  def _advance_stop(self) -> None:
    alive = [run for run in self.runs.values() if run.alive]
    stage = self._stop.next_stage({run.task.label for run in alive})
    for run in alive:
      if run.task.label in stage:
        run.state, run.kill_at = 'stopping', math.inf
        self._zygote.signal(run.task.name, signal.SIGTERM)
    if alive and self._stop.over:
      self.kill_all(f'Not stopped within {self._config.grace:g} s')

  def kill_all(self, why: str) -> None:
    """Kills all tasks; `why` begins the sentence that says so."""
    alive = [run for run in self.runs.values() if run.alive]
    self.note(f'{why}, killing: {", ".join(run.task.name for run in alive)}.')
    for run in alive:
      run.state = 'killed'
      self._zygote.signal(run.task.name, signal.SIGKILL)

  def start(self, run: task_run.TaskRun) -> None:
    """Gives a task a process."""
    run.state = 'starting'
    run.kill_at = math.inf
    run.reader = self._zygote.start(run.order)
    self._readers.add(run.reader, run.log)

  def _on_zygote(self) -> None:
    message = self._zygote.receive()
    if message is None:
      self._on_zygote_lost()
    elif message['event'] == 'ready':
      self.ready = True
      if self._stop is None:
        self._state = 'running'
      if message['reason_not_to_fork']:
        self.note(
          'Every task starts an interpreter of its own, which is slower: the '
          f'process with the preloaded modules cannot be forked, since '
          f'{message["reason_not_to_fork"]}.'
        )
      for run in self.runs.values():
        if run.state == 'waiting':
          self.start(run)
    elif message['event'] == 'failed':
      lines = output.shorten(message['error'].splitlines(), None)
      name = message.get('node', 'zygote')
      self.fail(config_lib.Cause(name, None, tuple(lines)))
    elif message['event'] == 'lost':
      self._lost_nodes.on_lost(message['tasks'], message['error'])
    elif message['event'] == 'placed':
      self._lost_nodes.on_placed(message['tasks'])
    elif message['event'] == 'started':
      self._on_started(self.runs[message['task']], message['pid'])
    else:
      self.on_exit(self.runs[message['task']], message['exit_code'])

  def _on_started(self, run: task_run.TaskRun, pid: int) -> None:
    run.pid = pid
    run.started = time.time()
    if run.state == 'starting':
      run.state = 'running'
    self._status_at = 0.0

  def on_exit(
    self, run: task_run.TaskRun, exit_code: int, is_lost: bool = False
  ) -> None:
    """Takes note of the end of a process, or of the loss of its node."""
    run.exit_code = exit_code
    self._status_at = 0.0
    # What it said last comes before what is said about it.
    self._readers.read(run.reader)
    asked = run.state in ('stopping', 'killed')
    if run.state == 'killed':
      return
    if run.state == 'leaving':
      self._forget(run)
    elif run.state == 'renewing':
      run.take_cause()
      self.start(run)
    elif asked and exit_code in (0, -signal.SIGTERM):
      run.state = 'stopped'
    elif exit_code == 0:
      run.state = 'finished'
    else:
      self._on_crash(run, asked, is_lost)
    if run.over:
      self._zygote.finish(run.task.name)

  def _on_crash(
    self, run: task_run.TaskRun, asked: bool, is_lost: bool
  ) -> None:
    cause = run.take_cause()
    is_final = asked or cause.ends_run
    if not is_final and not is_lost and self._lost_nodes.holds_back(run):
      return
    # A task that was asked to stop and crashed has not saved what it should.
    now = time.monotonic()
    delay = None if is_final else run.budget.spend(now, run.lived, not is_lost)
    if delay is None:
      run.state = 'failed'
      self.fail(cause)
      return
    ended = f'{run.task.name} ended with {cause.signal or run.exit_code}'
    if self._stop is not None:
      run.state = 'failed'
      self.note(f'{ended}; the run stops, so it does not start again.')
      return
    if is_lost:
      run.state = 'lost'
      return
    run.state = 'backoff'
    run.restart_at = now + delay
    self.note(f'{ended}; it starts again in {delay:g} s.')

  def ask_to_stop(self, run: task_run.TaskRun, state: str) -> None:
    """Has a task stop, for a reason that its state tells."""
    run.state = state
    run.kill_at = time.monotonic() + self._config.grace
    self._zygote.signal(run.task.name, signal.SIGTERM)

  def _forget(self, run: task_run.TaskRun) -> None:
    del self.runs[run.task.name]
    self._tasks.forget(run.task.name)
    self._zygote.release(run.task.name)

  def _on_zygote_lost(self) -> None:
    self._selector.unregister(self._zygote.channel)
    self._readers.read(self._zygote.reader)
    exit_code = self._zygote.wait()
    tail = tuple(self._zygote_log.tail)
    self.fail(config_lib.Cause('zygote', exit_code, tail))
    # The kernel has killed them with their parent.
    for run in self.runs.values():
      if not run.over:
        run.state = 'killed'

  def _write_status(self) -> None:
    self._status_at = time.monotonic() + _STATUS_SECS
    exit_code = self.exit_code if self._state == 'ended' else None
    self._status.write(
      status.this_launcher(status.RunState(self._state), exit_code),
      [run.describe() for run in self.runs.values()],
    )
