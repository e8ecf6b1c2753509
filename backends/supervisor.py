"""Watches over the tasks of one run: starts, restarts, stops and reports."""

import functools
import os
import selectors
import signal
import time
from collections.abc import Sequence
from typing import Any

from backends import config as config_lib
from backends import output, status, task_run, zygote_client

_TICK_SECS = 0.1
_SAME_INTERRUPT_SECS = 0.5
_READY_SECS = 300.0
_STATUS_SECS = 1.0


class Supervisor:
  """The loop of one run; everything in it happens in the caller's thread."""

  def __init__(
    self,
    runs: Sequence[task_run.TaskRun],
    zygote: zygote_client.ZygoteClient,
    config: config_lib.LocalConfig,
    launcher_log: output.TaskLog,
    zygote_log: output.TaskLog,
  ):
    self._runs = {run.task.name: run for run in runs}
    self._zygote = zygote
    self._config = config
    self._log = launcher_log
    self._zygote_log = zygote_log
    self._selector = selectors.DefaultSelector()
    self._open: dict[output.LineReader, output.TaskLog] = {}
    self._stop: config_lib.StopClock | None = None
    self._interrupts = 0
    self._interrupted_at = float('-inf')
    self._began = time.monotonic()
    self._status_at = 0.0
    self._status_dir = config.log_dir
    self.ready = False
    self.exit_code = 0
    self.cause: config_lib.Cause | None = None
    self.watch(zygote.channel, self._on_zygote)
    self._watch_lines(zygote.reader, zygote_log)

  @property
  def killed(self) -> tuple[str, ...]:
    return tuple(n for n, run in self._runs.items() if run.state == 'killed')

  @property
  def _state(self) -> str:
    if self._stop is not None:
      return 'stopping'
    return 'running' if self.ready else 'starting'

  @property
  def restarts(self) -> dict[str, int]:
    return {name: run.restarts for name, run in self._runs.items()}

  def watch(self, readable: Any, callback: Any) -> None:
    """Has the loop call `callback()` whenever there is something to read."""
    self._selector.register(readable, selectors.EVENT_READ, callback)

  def run(self) -> None:
    """Returns when no task is left to run."""
    while not all(run.over for run in self._runs.values()):
      for key, _ in self._selector.select(_TICK_SECS):
        key.data()
      self._on_time()

  def close(self) -> None:
    """Takes in the last lines; call it once all processes are dead."""
    for reader in list(self._open):
      self._close_reader(reader)
    self._selector.close()
    self._write_status('ended')

  def stop(self, exit_code: int, why: str) -> None:
    """Begins to stop all tasks, unless that has begun already.

    Args:
      exit_code: that of the run, if this is what stops it.
      why: a sentence's beginning for the log.
    """
    if self._stop is not None:
      return
    self.exit_code = exit_code
    labels = [run.task.label for run in self._runs.values()]
    stages = config_lib.stop_stages(labels, self._config.stop_order)
    self._stop = config_lib.StopClock(stages, self._config.grace)
    order = ', then '.join(' and '.join(sorted(stage)) for stage in stages)
    self._note(f'{why}: stopping {order}.')
    for run in self._runs.values():
      if run.state in ('waiting', 'backoff'):
        run.state = 'stopped'

  def fail(self, cause: config_lib.Cause) -> None:
    """Keeps the first cause and stops the run."""
    if self.cause is None:
      self.cause = cause
      if self._stop is not None and self.exit_code == 0:
        self.exit_code = 1
    self.stop(1, f'{cause.task} failed')

  def on_signal(self, signum: int) -> None:
    """Stops the run; at the second SIGINT, kills it."""
    now = time.monotonic()
    if signum == signal.SIGINT:
      # A wrapper may pass on what a terminal has sent to all already.
      if now - self._interrupted_at < _SAME_INTERRUPT_SECS:
        return
      self._interrupted_at = now
      self._interrupts += 1
    if self._interrupts > 1:
      self._note('Interrupted again: killing all.')
      self._kill_all()
    elif self._stop is None:
      self.stop(128 + signum, f'{signal.Signals(signum).name} came')
    if self._interrupts == 1 and signum == signal.SIGINT:
      self._note('Once more Ctrl-C kills at once.')

  def _on_time(self) -> None:
    now = time.monotonic()
    if not self.ready and now - self._began > _READY_SECS:
      text = (
        f'Importing {", ".join(self._config.preload)} took over '
        f"{_READY_SECS:.0f} s. Preload less, or use start='spawn'."
      )
      self.fail(config_lib.Cause('zygote', None, (text,)))
    for run in self._runs.values():
      if run.state == 'backoff' and now >= run.restart_at:
        run.restarts += 1
        self._start(run)
    if self._stop is not None:
      self._advance_stop()
    if now >= self._status_at:
      self._write_status(self._state)

  def _advance_stop(self) -> None:
    alive = [run for run in self._runs.values() if run.alive]
    stage = self._stop.next_stage({run.task.label for run in alive})
    for run in alive:
      if run.task.label in stage:
        run.state = 'stopping'
        self._zygote.signal(run.task.name, signal.SIGTERM)
    if alive and self._stop.over:
      names = ', '.join(run.task.name for run in alive)
      self._note(
        f'Not stopped within {self._config.grace:g} s, killing: {names}.'
      )
      self._kill_all()

  def _kill_all(self) -> None:
    for run in self._runs.values():
      if run.alive:
        run.state = 'killed'
        self._zygote.signal(run.task.name, signal.SIGKILL)

  def _start(self, run: task_run.TaskRun) -> None:
    run.state = 'starting'
    run.reader = self._zygote.start(run.order)
    self._watch_lines(run.reader, run.log)

  def _on_zygote(self) -> None:
    message = self._zygote.receive()
    if message is None:
      self._on_zygote_lost()
    elif message['event'] == 'ready':
      self.ready = True
      if message['reason_not_to_fork']:
        self._note(
          'Every task starts an interpreter of its own, which is slower: the '
          f'process with the preloaded modules cannot be forked, since '
          f'{message["reason_not_to_fork"]}.'
        )
      for run in self._runs.values():
        if run.state == 'waiting':
          self._start(run)
    elif message['event'] == 'failed':
      lines = output.shorten(message['error'].splitlines(), None)
      name = message.get('node', 'zygote')
      self.fail(config_lib.Cause(name, None, tuple(lines)))
    elif message['event'] == 'started':
      self._on_started(self._runs[message['task']], message['pid'])
    else:
      self._on_exit(self._runs[message['task']], message['exit_code'])

  def _on_started(self, run: task_run.TaskRun, pid: int) -> None:
    run.pid = pid
    run.started = time.time()
    if run.state == 'starting':
      run.state = 'running'
    self._status_at = 0.0

  def _on_exit(self, run: task_run.TaskRun, exit_code: int) -> None:
    run.exit_code = exit_code
    self._status_at = 0.0
    # What it said last comes before what is said about it.
    self._read_lines(run.reader)
    asked = run.state in ('stopping', 'killed')
    if run.state == 'killed':
      return
    if asked and exit_code in (0, -signal.SIGTERM):
      run.state = 'stopped'
    elif exit_code == 0:
      run.state = 'finished'
    else:
      self._on_crash(run, asked)

  def _on_crash(self, run: task_run.TaskRun, asked: bool) -> None:
    cause = self._cause_of(run)
    # A task that was asked to stop and crashed has not saved what it should.
    delay = None if asked else run.budget.spend(time.monotonic(), run.lived)
    if delay is None:
      run.state = 'failed'
      self.fail(cause)
      return
    ended = f'{run.task.name} ended with {cause.signal or run.exit_code}'
    if self._stop is not None:
      run.state = 'failed'
      self._note(f'{ended}; the run stops, so it does not start again.')
      return
    run.state = 'backoff'
    run.restart_at = time.monotonic() + delay
    self._note(f'{ended}; it starts again in {delay:g} s.')

  def _cause_of(self, run: task_run.TaskRun) -> config_lib.Cause:
    lines = run.log.tail
    if os.path.exists(run.order.error_path):
      with open(run.order.error_path) as f:
        lines = output.shorten(f.read().splitlines(), run.log.path)
      os.remove(run.order.error_path)
    return config_lib.Cause(run.task.name, run.exit_code, tuple(lines))

  def _on_zygote_lost(self) -> None:
    self._selector.unregister(self._zygote.channel)
    self._read_lines(self._zygote.reader)
    exit_code = self._zygote.wait()
    tail = tuple(self._zygote_log.tail)
    self.fail(config_lib.Cause('zygote', exit_code, tail))
    # The kernel has killed them with their parent.
    for run in self._runs.values():
      if not run.over:
        run.state = 'killed'

  def _watch_lines(
    self, reader: output.LineReader, log: output.TaskLog
  ) -> None:
    self._open[reader] = log
    self.watch(reader, functools.partial(self._read_lines, reader))

  def _read_lines(self, reader: output.LineReader) -> None:
    # It may have been closed since, in this turn of the loop.
    if reader in self._open:
      self._open[reader].write(reader.read())
      if reader.closed:
        self._close_reader(reader)

  def _close_reader(self, reader: output.LineReader) -> None:
    self._selector.unregister(reader)
    self._open.pop(reader).write(reader.close())

  def _note(self, text: str) -> None:
    self._log.write([text])

  def _write_status(self, state: str) -> None:
    self._status_at = time.monotonic() + _STATUS_SECS
    if self._status_dir is None:
      return
    exit_code = self.exit_code if state == 'ended' else None
    launcher = status.launcher(state, exit_code)
    tasks = [run.describe() for run in self._runs.values()]
    try:
      status.write(self._status_dir, {'launcher': launcher, 'tasks': tasks})
    except OSError as e:
      # As with a task's log, a full disk must not end a run that goes on.
      self._status_dir = None
      self._note(f'The status is no longer written: {e}')
