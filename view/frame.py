"""What the view shows of a run at one moment."""

import dataclasses
from collections.abc import Sequence

from reverb_wire import table_info
from run_files import status


@dataclasses.dataclass(frozen=True)
class Goal:
  """What a run is, and when it ends.

  Attributes:
    title: the run's title, such as `sac on gym:Pendulum-v1`.
    num_steps: the number of steps after which the run ends.
    has_actors: whether actors make these steps; otherwise the learner does.
  """

  title: str
  num_steps: int
  has_actors: bool = True


@dataclasses.dataclass(frozen=True)
class Task:
  """One task of the run.

  A value that its newest row of metrics lacks is None.

  Attributes:
    label: its role.
    index: its number among the tasks of that role.
    state: what it does.
    restarts: how often it was started again.
    steps_per_second: the number of steps that it makes a second.
    episode_return: the return of its last episode.
    version: the version of the weights that it uses; of the learner, the last
      version that it has published.
    lag: the number of newer versions of the weights.
  """

  label: str
  index: int
  state: status.TaskState = status.TaskState.RUNNING
  restarts: int = 0
  steps_per_second: float | None = None
  episode_return: float | None = None
  version: float | None = None
  lag: float | None = None

  @property
  def name(self) -> str:
    """Its label and index, as in `actor/0`."""
    return f'{self.label}/{self.index}'


@dataclasses.dataclass(frozen=True)
class LearnerTime:
  """The fractions of its time that the learner waits; their sum is at most 1.

  Attributes:
    sampling: the fraction in which it waits for samples.
    publishing: the fraction in which it waits in `publish()`.
  """

  sampling: float
  publishing: float


@dataclasses.dataclass(frozen=True)
class Frame:
  """A run at one moment.

  Attributes:
    goal: what the run is, and when it ends.
    phase: what its launcher does.
    elapsed: the seconds since it began.
    steps: the number of steps that it has made.
    exit_code: its exit code, if it has ended.
    rate: the steps a second; None if too little is known.
    tasks: its tasks; none before the program is made.
    tables: the replay server's tables, while that server answers.
    learner_time: what the learner waits for; None if too little is known.
    returns: the returns of the evaluators' episodes, oldest first; without
      evaluators, of the actors' episodes.
    evaluated: whether the returns are the evaluators'.
  """

  goal: Goal
  phase: status.RunState
  elapsed: float
  steps: int
  exit_code: int | None = None
  rate: float | None = None
  tasks: Sequence[Task] = ()
  tables: Sequence[table_info.TableInfo] = ()
  learner_time: LearnerTime | None = None
  returns: Sequence[float] = ()
  evaluated: bool = True

  @property
  def seconds_left(self) -> float | None:
    """Seconds until the last step at the present rate; None if unknown."""
    if not self.rate:
      return None
    return max(self.goal.num_steps - self.steps, 0) / self.rate
