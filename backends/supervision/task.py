"""One task of a run: its state, its restarts and its current process.

`TRANSITIONS` lists all allowed changes of a task's state.
"""

import dataclasses
import math
import os
import time
from collections.abc import Mapping

from backends.process import messages
from backends.supervision import logs, restarts, result, task_specs
from run_files import status
from run_files.status import TaskState
from system import line_reader

# A task in one of these states has a process, or its process is about to start.
_ALIVE = (
  TaskState.STARTING,
  TaskState.RUNNING,
  TaskState.RENEWING,
  TaskState.LEAVING,
  TaskState.STOPPING,
)
# The supervisor has asked the process to stop, or has killed it.
_ASKED = (
  TaskState.RENEWING,
  TaskState.LEAVING,
  TaskState.STOPPING,
  TaskState.KILLED,
)
# The process ended by itself or with its node. FINISHED follows an exit code of
# 0; otherwise `restarts` chooses one of these states.
_ENDED = (
  TaskState.WAITING,
  TaskState.BACKOFF,
  TaskState.LOST,
  TaskState.FINISHED,
  TaskState.FAILED,
)
# For each state, the states that may follow it. The last four are final.
TRANSITIONS: Mapping[TaskState, tuple[TaskState, ...]] = {
  TaskState.WAITING: (
    TaskState.STARTING,
    TaskState.LOST,
    TaskState.STOPPED,
    TaskState.KILLED,
  ),
  TaskState.STARTING: (TaskState.RUNNING, *_ASKED, *_ENDED),
  TaskState.RUNNING: (*_ASKED, *_ENDED),
  TaskState.BACKOFF: (
    TaskState.STARTING,
    TaskState.LOST,
    TaskState.STOPPED,
    TaskState.KILLED,
  ),
  TaskState.LOST: (TaskState.STARTING, TaskState.STOPPED, TaskState.KILLED),
  TaskState.RENEWING: (
    TaskState.STARTING,
    TaskState.LOST,
    TaskState.FAILED,
    *_ASKED,
  ),
  # When the process of a leaving task has ended, the run forgets the task.
  TaskState.LEAVING: (TaskState.STOPPING, TaskState.KILLED),
  TaskState.STOPPING: (
    TaskState.STOPPING,
    TaskState.STOPPED,
    TaskState.FAILED,
    TaskState.KILLED,
  ),
  TaskState.FINISHED: (),
  TaskState.FAILED: (),
  TaskState.STOPPED: (),
  TaskState.KILLED: (),
}


@dataclasses.dataclass(eq=False)
class Task:
  """One task of a run.

  Attributes:
    spec: the program's description of the task.
    order: the message that asks the zygote to start the task's process.
    log: the log for the lines that the task's processes print.
    budget: the restarts that the task has left.
    pid: the pid of the task's current process, or of the last one; None before
      the first.
    started: when that process started, in seconds since the epoch.
    restarts: how many times the task was started again.
    restart_at: when the task starts again, if it is in the state BACKOFF; in
      seconds of the monotonic clock.
    kill_at: when the process is killed, if it has not stopped by then; in
      seconds of the same clock.
    exit_code: the exit code of the task's last process that ended; minus the
      signal's number if a signal ended it.
    reader: reads what the current process prints.
  """

  spec: task_specs.TaskSpec
  order: messages.Order
  log: logs.TaskLog
  budget: restarts.RestartBudget
  pid: int | None = None
  started: float | None = None
  restarts: int = 0
  restart_at: float = 0.0
  kill_at: float = math.inf
  exit_code: int | None = None
  reader: line_reader.LineReader | None = None
  _state: TaskState = dataclasses.field(default=TaskState.WAITING, init=False)

  @property
  def name(self) -> str:
    return self.spec.name

  @property
  def label(self) -> str:
    return self.spec.label

  @property
  def state(self) -> TaskState:
    return self._state

  def move_to(self, state: TaskState) -> None:
    """Changes the state.

    Raises:
      ValueError: that state may not follow the task's current state.
    """
    if state not in TRANSITIONS[self._state]:
      raise ValueError(
        f'{self.name} is {self._state}; the state {state} may not follow'
      )
    self._state = state

  @property
  def alive(self) -> bool:
    """Whether the task has a process, or its process is about to start."""
    return self._state in _ALIVE

  @property
  def over(self) -> bool:
    """Whether the task will not run again."""
    return not TRANSITIONS[self._state]

  @property
  def lived(self) -> float:
    """Seconds since the current process started; 0 before the first."""
    return time.time() - self.started if self.started else 0.0

  def take_cause(self) -> result.Cause:
    """Returns why the last process ended, and removes its error file."""
    lines = self.log.tail
    if os.path.exists(self.order.error_path):
      with open(self.order.error_path) as f:
        lines = logs.shorten(f.read().splitlines(), self.log.path)
      os.remove(self.order.error_path)
    return result.Cause(self.name, self.exit_code, tuple(lines))

  def describe(self) -> status.Task:
    """Returns the task's entry for the run's status file."""
    return status.Task(
      label=self.label,
      index=self.spec.index,
      pid=self.pid,
      state=self._state,
      started=self.started,
      restarts=self.restarts,
      exit_code=self.exit_code,
      addresses=[address.resolve() for address in self.spec.addresses],
    )
