"""Supervises the tasks of one run: starts, restarts, stops and reports them.

Other files decide, and the supervisor carries it out. `restarts` decides
whether a task that crashed starts again, `stopping` decides which tasks stop
and when, and `lost_nodes` decides which tasks start again when another node has
replaced a lost one.
"""

import math
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import launchpad as lp

from backends.process import messages
from backends.supervision import config as config_lib
from backends.supervision import (
  logs,
  lost_nodes,
  machines,
  restarts,
  result,
  run_tasks,
  stopping,
)
from backends.supervision import task as task_lib
from run_files import status
from run_files.status import RunState, TaskState

_TICK_SECS = 0.1
_STATUS_SECS = 1.0


class Supervisor:
  """The loop of one run. It runs in the thread that calls `run`.

  Attributes:
    tasks: the tasks of the run.
    ready: whether the zygote has imported its modules, so that tasks can start.
    every_second: a function that the loop calls once a second.
    stop: begins the stop of the run, and holds the reason for it.
  """

  def __init__(
    self,
    tasks: run_tasks.RunTasks,
    zygote: machines.Zygote,
    config: config_lib.RunConfig,
    launcher_log: logs.TaskLog,
    zygote_log: logs.TaskLog,
  ):
    """Starts no task yet: `run` starts them once the zygote is ready.

    Args:
      tasks: the tasks of the run.
      zygote: starts their processes.
      config: the run's settings.
      launcher_log: the log for the supervisor's own lines.
      zygote_log: the log for the lines that the zygote itself prints.
    """
    self.tasks = tasks
    self._zygote = zygote
    self._config = config
    self._log = launcher_log
    self.stop = stopping.Stop(tasks, zygote, config, launcher_log, zygote_log)
    self._zygote_log = zygote_log
    self._selector = selectors.DefaultSelector()
    self._readers = logs.Readers(self._selector)
    self._began = time.monotonic()
    self._status_at = 0.0
    self._status = status.Writer(config.log_dir, self.note)
    self.ready = False
    self.every_second: Callable[[], None] = lambda: None
    self.watch(zygote.channel, self._on_zygote)
    self._readers.add(zygote.reader, zygote_log)

  def watch(self, readable: Any, callback: Callable[[], None]) -> None:
    """Makes the loop call `callback()` whenever `readable` is readable."""
    self._selector.register(readable, selectors.EVENT_READ, callback)

  def run(self) -> None:
    """Runs the loop until all tasks have ended for good."""
    while not all(task.over for task in self.tasks.all):
      for key, _ in self._selector.select(_TICK_SECS):
        key.data()
      self._on_tick()

  def add(self, program: lp.Program) -> None:
    """Starts the tasks of a program that are new to the run."""
    for task in self.tasks.add(program):
      if self.ready:
        self._start(task)

  def dismiss(self, name: str) -> None:
    """Stops a task and removes it from the run."""
    task = self.tasks.by_name[name]
    if task.alive:
      self._ask_to_stop(task, TaskState.LEAVING)
    else:
      self._forget(task)

  def note(self, text: str) -> None:
    """Writes a line to the launcher's log."""
    self._log.write([text])

  def close(self) -> None:
    """Writes the last lines and the status. All processes must be dead."""
    self._readers.close()
    self._selector.close()
    self._write_status(RunState.ENDED, self.stop.exit_code)

  def _on_tick(self) -> None:
    now = time.monotonic()
    if not self.ready and now - self._began > self._zygote.ready_secs:
      text = (
        f'Importing {", ".join(self._config.preload)} took over '
        f"{self._zygote.ready_secs:.0f} s. Preload less, or use start='spawn'."
      )
      self.stop.fail(result.Cause('zygote', None, (text,)))
    for task in self.tasks.all:
      if task.state is TaskState.BACKOFF and now >= task.restart_at:
        task.restarts += 1
        self._start(task)
      elif task.alive and now >= task.kill_at:
        task.kill_at = math.inf
        self._zygote.signal(task.name, signal.SIGKILL)
    self.stop.advance()
    if now >= self._status_at:
      self._status_at = now + _STATUS_SECS
      self._write_status(self._state())
      self.every_second()

  def _start(self, task: task_lib.Task) -> None:
    task.move_to(TaskState.STARTING)
    task.kill_at = math.inf
    task.reader = self._zygote.start(task.order)
    self._readers.add(task.reader, task.log)

  def _ask_to_stop(self, task: task_lib.Task, state: TaskState) -> None:
    """Asks a task to stop. Its state says what happens after that."""
    task.move_to(state)
    task.kill_at = time.monotonic() + self._config.grace
    self._zygote.signal(task.name, signal.SIGTERM)

  def _forget(self, task: task_lib.Task) -> None:
    self.tasks.forget(task.name)
    self._zygote.release(task.name)

  def _on_zygote(self) -> None:
    match self._zygote.receive():
      case None:
        self._on_zygote_gone()
      case messages.Ready(reason_not_to_fork):
        self._on_ready(reason_not_to_fork)
      case messages.Failed(error, node):
        lines = logs.shorten(error.splitlines(), None)
        self.stop.fail(result.Cause(node or 'zygote', None, tuple(lines)))
      case messages.NodeLost(names, error):
        self._on_node_lost(names, error)
      case messages.NodeReplaced(names):
        self._on_node_replaced(names)
      case messages.Started(name, pid):
        self._on_started(self.tasks.by_name[name], pid)
      case messages.Exited(name, exit_code):
        self._on_exit(self.tasks.by_name[name], exit_code)
      case message:
        raise messages.MessageError(f'a zygote does not send {message}')

  def _on_ready(self, reason_not_to_fork: str | None) -> None:
    self.ready = True
    if reason_not_to_fork:
      self.note(
        'Every task starts a new interpreter, which is slower: the process '
        'with the preloaded modules cannot be forked, because '
        f'{reason_not_to_fork}.'
      )
    for task in self.tasks.all:
      if task.state is TaskState.WAITING:
        self._start(task)

  def _on_started(self, task: task_lib.Task, pid: int) -> None:
    task.pid = pid
    task.started = time.time()
    if task.state is TaskState.STARTING:
      task.move_to(TaskState.RUNNING)
    self._status_at = 0.0

  def _on_exit(
    self, task: task_lib.Task, exit_code: int, node_is_lost: bool = False
  ) -> None:
    """Records that a task's process has ended, and decides what is next."""
    task.exit_code = exit_code
    self._status_at = 0.0
    # The process's last lines must come before the notes about its end.
    self._readers.read(task.reader)
    if task.over:
      return
    if task.state is TaskState.LEAVING:
      self._forget(task)
    elif task.state is TaskState.RENEWING and not node_is_lost:
      task.take_cause()
      self._start(task)
    elif task.state is TaskState.STOPPING and exit_code in (0, -signal.SIGTERM):
      task.move_to(TaskState.STOPPED)
    elif exit_code == 0:
      task.move_to(TaskState.FINISHED)
    else:
      self._on_crash(task, node_is_lost)
    if task.over:
      self._zygote.finish(task.name)

  def _on_crash(self, task: task_lib.Task, node_is_lost: bool) -> None:
    cause = task.take_cause()
    decision = restarts.decide(
      task.state,
      cause,
      task.budget,
      lived=task.lived,
      node_is_lost=node_is_lost,
      callee_is_lost=lost_nodes.calls_lost_task(task, self.tasks),
      is_stopping=self.stop.has_begun,
    )
    task.move_to(decision.state)
    task.restart_at = time.monotonic() + decision.delay
    ended = f'{task.name} ended with {cause.signal or task.exit_code}'
    if decision.fails_run:
      self.stop.fail(cause)
    elif decision.state is TaskState.FAILED:
      self.note(f'{ended}; the run stops, so it does not start again.')
    elif decision.state is TaskState.BACKOFF:
      self.note(f'{ended}; it starts again in {decision.delay:g} s.')

  def _on_node_lost(self, names: Sequence[str], error: str) -> None:
    """Makes the tasks of a lost node wait for another node."""
    self.note(f'{error} Its tasks start again on another node.')
    for task in self.tasks.find(names):
      if task.alive:
        self._on_exit(task, -signal.SIGKILL, node_is_lost=True)
      elif task.state in (TaskState.BACKOFF, TaskState.WAITING):
        task.move_to(TaskState.LOST)

  def _on_node_replaced(self, names: Sequence[str]) -> None:
    """Starts the tasks of a lost node on the node that replaces it."""
    self.tasks.renew_addresses(names)
    if self.stop.has_begun:
      return
    moves = lost_nodes.moves(names, self.tasks)
    for task in moves.renew:
      self._ask_to_stop(task, TaskState.RENEWING)
    if moves.renew:
      self.note(
        f'{", ".join(names)} moved. These tasks start again with the new '
        f'address: {", ".join(task.name for task in moves.renew)}.'
      )
    for task in moves.start:
      # If the zygotes are not ready, `_on_ready` starts the tasks in the state
      # WAITING.
      if task.state is TaskState.LOST or self.ready:
        task.restarts += task.pid is not None
        self._start(task)

  def _on_zygote_gone(self) -> None:
    self._selector.unregister(self._zygote.channel)
    self._readers.read(self._zygote.reader)
    exit_code = self._zygote.wait()
    tail = tuple(self._zygote_log.tail)
    self.stop.fail(result.Cause('zygote', exit_code, tail))
    # The zygote was the parent of the tasks, so the kernel has killed them too.
    for task in self.tasks.all:
      if not task.over:
        task.move_to(TaskState.KILLED)

  def _state(self) -> RunState:
    if self.stop.has_begun:
      return RunState.STOPPING
    return RunState.RUNNING if self.ready else RunState.STARTING

  def _write_status(
    self, state: RunState, exit_code: int | None = None
  ) -> None:
    self._status.write(
      status.this_launcher(state, exit_code),
      [task.describe() for task in self.tasks.all],
    )
