"""One task of a run: its state, its restarts, and the process that it has now.

`TRANSITIONS` has every change of a task's state that is allowed.
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

# A task in one of these has a process, or is about to have one.
_ALIVE = (
  TaskState.STARTING,
  TaskState.RUNNING,
  TaskState.RENEWING,
  TaskState.LEAVING,
  TaskState.STOPPING,
)
# The supervisor has asked for the end of the process, or ends it.
_ASKED = (
  TaskState.RENEWING,
  TaskState.LEAVING,
  TaskState.STOPPING,
  TaskState.KILLED,
)
# The process ended by itself or with its node; `restarts` chooses among these,
# except for FINISHED.
_ENDED = (
  TaskState.WAITING,
  TaskState.BACKOFF,
  TaskState.LOST,
  TaskState.FINISHED,
  TaskState.FAILED,
)
# From each state, the states that may follow it. The last four are for good.
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
  # At its end the run forgets a task that leaves.
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
    spec: what the program says of the task.
    order: the message that has the zygote start its process.
    log: the log that gets the lines that its processes print.
    budget: the restarts that it has left.
    pid: the pid of its process, or of the last one.
    started: when that process started, in seconds since the epoch.
    restarts: the number of times that it was started again.
    restart_at: in the state BACKOFF, when it starts again, by the monotonic
      clock.
    kill_at: when its process is killed if it has not stopped by then, by the
      same clock.
    exit_code: the exit code of its last process that ended.
    reader: reads what its process prints.
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
      ValueError: that state does not follow the one that the task is in.
    """
    if state not in TRANSITIONS[self._state]:
      raise ValueError(
        f'{self.name} is {self._state}, which {state} does not follow'
      )
    self._state = state

  @property
  def alive(self) -> bool:
    """Whether it has, or is about to have, a process."""
    return self._state in _ALIVE

  @property
  def over(self) -> bool:
    """Whether it never gets a process again."""
    return not TRANSITIONS[self._state]

  @property
  def lived(self) -> float:
    """Seconds since its process started; 0 if none has started yet."""
    return time.time() - self.started if self.started else 0.0

  def take_cause(self) -> result.Cause:
    """Returns why its last process ended, and removes the file that says so."""
    lines = self.log.tail
    if os.path.exists(self.order.error_path):
      with open(self.order.error_path) as f:
        lines = logs.shorten(f.read().splitlines(), self.log.path)
      os.remove(self.order.error_path)
    return result.Cause(self.name, self.exit_code, tuple(lines))

  def describe(self) -> status.Task:
    """Returns what the run's status file says of it."""
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
