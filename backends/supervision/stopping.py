"""How a run stops: in which order its tasks stop, and how long they have.

A stop begins in one of three ways. A task calls `lp.stop()`, which writes into
a pipe that the launcher reads (`process.loopback`). Or the launcher receives a
signal (`system.wakeups`). Or a task fails and does not start again
(`restarts`). Each of them calls `Stop.begin`. From then on, stage by stage, the
zygote sends SIGTERM to the tasks. In a task, SIGTERM makes `lp.wait_for_stop`
return (`process.task_main`). All tasks together have `RunConfig.grace` seconds
to stop. The tasks that still run after that are killed.
"""

import dataclasses
import math
import signal
import time
from collections.abc import Sequence

from backends.supervision import config as config_lib
from backends.supervision import logs, machines, result, run_tasks
from run_files.status import TaskState
from system import limits


def stop_stages(
  labels: Sequence[str], stop_order: Sequence[Sequence[str]]
) -> list[set[str]]:
  """Returns the stages in order, each with the labels that stop together.

  Args:
    labels: the labels of the run's tasks.
    stop_order: as in `config.RunConfig`.
  """
  stages = [set(stage) & set(labels) for stage in stop_order]
  # A role that the order does not name is more likely a client than a server,
  # and clients stop first.
  others = set(labels).difference(*stages)
  first, *later = stages or [set()]
  return [stage for stage in (first | others, *later) if stage]


class StopClock:
  """Divides the grace period among the stages."""

  def __init__(self, stages: Sequence[set[str]], grace: float):
    """Starts the clock.

    Args:
      stages: the labels of each stage, from `stop_stages`.
      grace: seconds until all tasks should have stopped.
    """
    self._stages = list(stages)
    self._deadline = time.monotonic() + grace
    self._stage_deadline = 0.0
    self._current: set[str] = set()

  @property
  def over(self) -> bool:
    """Whether the grace period is over."""
    return time.monotonic() >= self._deadline

  def next_stage(self, alive: set[str]) -> set[str]:
    """Returns the labels of the tasks to ask to stop now; may be empty.

    A stage has its share of the grace period. Then the next stage begins even
    if tasks of this one still run, so that the later tasks can save their
    state.

    Args:
      alive: the labels of the tasks that still run.
    """
    now = time.monotonic()
    if not self._stages:
      return set()
    if self._current & alive and now < self._stage_deadline:
      return set()
    share = (self._deadline - now) / len(self._stages)
    self._stage_deadline = now + share
    self._current = self._stages.pop(0)
    return self._current


class Stop:
  """The stop of one run: whether it has begun, and why.

  Attributes:
    exit_code: the exit code of the run.
    cause: the first failure; None if nothing has failed.
  """

  def __init__(
    self,
    tasks: run_tasks.RunTasks,
    zygote: machines.Zygote,
    config: config_lib.RunConfig,
    launcher_log: logs.TaskLog,
    zygote_log: logs.TaskLog,
  ):
    """Begins nothing yet. `supervisor.Supervisor` describes the arguments."""
    self._tasks = tasks
    self._zygote = zygote
    self._config = config
    self._log = launcher_log
    self._zygote_log = zygote_log
    self._clock: StopClock | None = None
    self.exit_code = 0
    self.cause: result.Cause | None = None

  @property
  def has_begun(self) -> bool:
    return self._clock is not None

  def begin(self, exit_code: int, why: str) -> None:
    """Begins to stop all tasks, unless the stop has begun already.

    Args:
      exit_code: the exit code of the run. It is ignored if the run has one that
        is not 0.
      why: why the run stops, such as 'lp.stop() was called'. The log's line
        begins with it.
    """
    self.exit_code = self.exit_code or exit_code
    if self.has_begun:
      return
    labels = [task.label for task in self._tasks.all]
    stages = stop_stages(labels, self._config.stop_order)
    self._clock = StopClock(stages, self._config.grace)
    order = ', then '.join(' and '.join(sorted(stage)) for stage in stages)
    self._log.write([f'{why}: stopping {order}.'])
    for task in self._tasks.all:
      if not task.alive and not task.over:
        task.move_to(TaskState.STOPPED)
        self._zygote.finish(task.name)

  def fail(self, cause: result.Cause) -> None:
    """Stops the run because of a failure. Only the first cause is kept."""
    if self.cause is None:
      task_logs = [self._zygote_log, *(task.log for task in self._tasks.all)]
      refusals = [line for log in task_logs for line in log.refusals]
      advice = limits.advice([*cause.lines, *refusals])
      self.cause = dataclasses.replace(cause, lines=(*cause.lines, *advice))
    self.begin(1, f'{cause.task} failed')

  def advance(self) -> None:
    """Asks the tasks of the next stage to stop, if it is their turn.

    It also kills all tasks at the end of the grace period. The supervisor calls
    it at each step of its loop.
    """
    if self._clock is None:
      return
    alive = [task for task in self._tasks.all if task.alive]
    stage = self._clock.next_stage({task.label for task in alive})
    for task in alive:
      if task.label in stage:
        task.move_to(TaskState.STOPPING)
        task.kill_at = math.inf
        self._zygote.signal(task.name, signal.SIGTERM)
    if alive and self._clock.over:
      self.kill_all(f'Not stopped within {self._config.grace:g} s')

  def kill_all(self, why: str) -> None:
    """Kills all tasks. The log's line about it begins with `why`."""
    alive = [task for task in self._tasks.all if task.alive]
    names = ', '.join(task.name for task in alive)
    self._log.write([f'{why}, killing: {names}.'])
    for task in alive:
      task.move_to(TaskState.KILLED)
      self._zygote.signal(task.name, signal.SIGKILL)
