"""What a local run is told, and what it tells at its end."""

import collections
import dataclasses
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from backends.process import messages

_MAX_BACKOFF_SECS = 30.0


@dataclasses.dataclass(frozen=True)
class RestartPolicy:
  """How often a task that crashed is started again.

  Attributes:
    max_restarts: how many restarts within the window; one more crash ends the
      run.
    window: the window's length, in seconds.
    backoff: seconds to wait before a restart; doubled for each restart that is
      still in the window, up to half a minute.
    early: a task that crashes within so many seconds of its start would
      probably do it again.
    max_early_restarts: how many restarts follow such crashes in a row.
  """

  max_restarts: int = 10
  window: float = 300.0
  backoff: float = 0.5
  early: float = 15.0
  max_early_restarts: int = 2


class RestartBudget:
  """What is left of one task's policy."""

  def __init__(self, policy: RestartPolicy | None):
    self._policy = policy
    self._times = collections.deque()
    self._early_in_a_row = 0

  def spend(
    self, now: float, lived: float, is_own: bool = True
  ) -> float | None:
    """Returns the seconds to wait before a restart; None to give up.

    Args:
      now: by the monotonic clock.
      lived: seconds from the task's start to its crash.
      is_own: whether the task crashed by itself. That its node is lost soon
        after a start does not mean that it would be again.
    """
    if self._policy is None:
      return None
    if is_own:
      is_early = lived < self._policy.early
      self._early_in_a_row = self._early_in_a_row + 1 if is_early else 0
      if self._early_in_a_row > self._policy.max_early_restarts:
        return None
    while self._times and now - self._times[0] > self._policy.window:
      self._times.popleft()
    if len(self._times) >= self._policy.max_restarts:
      return None
    delay = self._policy.backoff * 2 ** len(self._times)
    self._times.append(now)
    return min(delay, _MAX_BACKOFF_SECS)


@dataclasses.dataclass(frozen=True)
class RunConfig:
  """How a program runs on this machine.

  Attributes:
    default_env: environment variables of every task; None unsets one that the
      launcher has.
    env: environment variables by label, over `default_env`; None unsets.
    preload: modules that the parent of all tasks imports before it forks them.
      They must start no thread.
    start: `fork` tasks off that parent, or `spawn` an interpreter for each.
    restart: policies by label. A crash of a task without one ends the run.
    stop_order: labels in the order in which they are asked to stop, those of
      one inner sequence together. Labels it does not have are in the first.
    spare: labels of tasks that the run can go on without, for a while, when
      their node is lost.
    grace: seconds from the request to stop until what still runs is killed.
    refuse_open_ports: whether a run does not begin where the kernel does not
      let it keep other machines off its ports.
    log_dir: a folder for `<label>_<index>.log`, `launcher.log` and
      `status.json`; None keeps no files.
  """

  default_env: Mapping[str, str | None] = dataclasses.field(
    default_factory=dict
  )
  env: Mapping[str, Mapping[str, str | None]] = dataclasses.field(
    default_factory=dict
  )
  preload: Sequence[str] = ()
  start: Literal['fork', 'spawn'] = 'fork'
  restart: Mapping[str, RestartPolicy] = dataclasses.field(default_factory=dict)
  stop_order: Sequence[Sequence[str]] = ()
  spare: Sequence[str] = ()
  grace: float = 15.0
  refuse_open_ports: bool = False
  log_dir: str | None = None

  def __post_init__(self):
    if self.start not in ('fork', 'spawn'):
      raise ValueError(f"start must be 'fork' or 'spawn', got {self.start!r}.")
    if self.grace < 0:
      raise ValueError(f'grace must not be negative, got {self.grace}.')
    # ('actor', 'learner') would else be read as labels of one letter.
    if any(isinstance(stage, str) for stage in self.stop_order):
      raise ValueError(
        "stop_order must be a sequence of sequences, as in [['actor'], "
        f"['learner']], got {self.stop_order!r}."
      )

  def task_env(self, label: str) -> dict[str, str | None]:
    return {**self.default_env, **self.env.get(label, {})}


@dataclasses.dataclass(frozen=True)
class Cause:
  """Why a run failed.

  Attributes:
    task: the name of the task that failed first, `label/index`; or `launcher`,
      `zygote` or the name of a node.
    exit_code: what its process exited with; minus the number of a signal; None
      if no process ended.
    lines: its traceback, of a long one both ends; or else the end of its
      output.
  """

  task: str
  exit_code: int | None
  lines: tuple[str, ...]

  @property
  def ends_run(self) -> bool:
    """Whether the task knew that it would fail again."""
    return self.exit_code == messages.ENDS_RUN

  @property
  def signal(self) -> str | None:
    """The name of the signal that ended the process, `SIGKILL` say."""
    if self.exit_code is None or self.exit_code >= 0:
      return None
    return signal.Signals(-self.exit_code).name

  def __str__(self) -> str:
    if self.exit_code is None:
      how = 'failed'
    elif self.signal:
      how = f'was ended by {self.signal}'
    else:
      how = f'exited with code {self.exit_code}'
    return '\n'.join([*self.lines, f'The run failed: {self.task} {how}.'])


@dataclasses.dataclass(frozen=True)
class Result:
  """How a run ended.

  Attributes:
    exit_code: as a shell expects it. 0: all tasks ended, or one of them called
      `lp.stop()`; 1: failed; 130: stopped by Ctrl-C; 143: by SIGTERM;
      129: by SIGHUP.
    cause: the first failure, if any.
    restarts: how often each task was started again, by name.
    killed: names of the tasks that did not stop within the time of grace.
    wall_time: seconds from start to end.
  """

  exit_code: int
  cause: Cause | None
  restarts: Mapping[str, int]
  killed: tuple[str, ...]
  wall_time: float


def stop_stages(
  labels: Sequence[str], stop_order: Sequence[Sequence[str]]
) -> list[set[str]]:
  """Returns the labels that stop together, stage after stage.

  Args:
    labels: those of the program.
    stop_order: as in `RunConfig`.
  """
  stages = [set(stage) & set(labels) for stage in stop_order]
  # A role that nobody ordered is likelier a client than a server.
  others = set(labels).difference(*stages)
  first, *later = stages or [set()]
  return [stage for stage in (first | others, *later) if stage]


class StopClock:
  """Shares the time of grace out among the stages."""

  def __init__(self, stages: Sequence[set[str]], grace: float):
    self._stages = list(stages)
    self._deadline = time.monotonic() + grace
    self._stage_deadline = 0.0
    self._current: set[str] = set()

  @property
  def over(self) -> bool:
    return time.monotonic() >= self._deadline

  def next_stage(self, alive: set[str]) -> set[str]:
    """Returns the labels to ask to stop now, if it is time for a stage.

    A stage that does not stop in its share of the time does not keep the later
    ones from saving what they have.

    Args:
      alive: labels of the tasks that still run.
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
