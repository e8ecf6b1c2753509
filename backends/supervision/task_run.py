"""One task of a run, and what became of it so far."""

import dataclasses
import math
import os
import time

from backends.process import messages
from backends.supervision import config, output, tasks
from run_files import status
from system import line_reader

_ALIVE = ('starting', 'running', 'renewing', 'leaving', 'stopping')


@dataclasses.dataclass
class TaskRun:
  """One task and the process that it has now.

  Attributes:
    task: the task.
    order: what its process is told.
    log: where its lines go.
    budget: the restarts left.
    state: `waiting` for its first start, `starting`, `running`, `backoff`
      before a restart, `lost` while its node is, `renewing` when it stops to
      start again, `leaving` when it stops since there are to be fewer,
      `stopping`; then for good `finished`, `failed`, `stopped` or `killed`.
    pid: of the process it has, or had last.
    started: when that started, in seconds since the epoch.
    restarts: how often it was started again.
    restart_at: when it will be, by the monotonic clock.
    kill_at: when one that stops by itself is killed, by the same clock.
    exit_code: of its last process that ended.
    reader: what the process that it has prints.
  """

  task: tasks.Task
  order: messages.Order
  log: output.TaskLog
  budget: config.RestartBudget
  state: str = 'waiting'
  pid: int | None = None
  started: float | None = None
  restarts: int = 0
  restart_at: float = 0.0
  kill_at: float = math.inf
  exit_code: int | None = None
  reader: line_reader.LineReader | None = None

  @property
  def alive(self) -> bool:
    """Whether it has, or is about to have, a process."""
    return self.state in _ALIVE

  @property
  def over(self) -> bool:
    return self.state in ('finished', 'failed', 'stopped', 'killed')

  @property
  def lived(self) -> float:
    """Seconds since its process started, which it may have to yet."""
    return time.time() - self.started if self.started else 0.0

  def take_cause(self) -> config.Cause:
    """Returns why its last process ended, which it can tell only once."""
    lines = self.log.tail
    if os.path.exists(self.order.error_path):
      with open(self.order.error_path) as f:
        lines = output.shorten(f.read().splitlines(), self.log.path)
      os.remove(self.order.error_path)
    return config.Cause(self.task.name, self.exit_code, tuple(lines))

  def describe(self) -> status.Task:
    """Returns what the run's status file says of it."""
    return status.Task(
      label=self.task.label,
      index=self.task.index,
      pid=self.pid,
      state=status.TaskState(self.state),
      started=self.started,
      restarts=self.restarts,
      exit_code=self.exit_code,
      addresses=[address.resolve() for address in self.task.addresses],
    )
