"""What there is to show of a run at one moment."""

import dataclasses
from collections.abc import Sequence

from reverb_wire import table_info
from run_files import status


@dataclasses.dataclass(frozen=True)
class Goal:
  """What a run is, and when it is done.

  Attributes:
    title: what runs, such as `sac on gym:Pendulum-v1`.
    num_steps: the steps after which it ends.
    has_actors: whether these are the actors' steps, or the learner's.
  """

  title: str
  num_steps: int
  has_actors: bool = True


@dataclasses.dataclass(frozen=True)
class Task:
  """One process.

  Attributes:
    label: its role.
    index: among those of its role.
    state: what it does.
    restarts: how often it was started again.
    steps_per_second: newest, as are the next three; None if not known.
    episode_return: of its last episode.
    version: of the weights that it uses, or the learner has published.
    lag: how many newer versions there are.
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
    return f'{self.label}/{self.index}'


@dataclasses.dataclass(frozen=True)
class LearnerTime:
  """Which parts of a learner's newest seconds went where; in all at most 1.

  Attributes:
    sampling: waiting for samples.
    publishing: waiting to hand over weights.
  """

  sampling: float
  publishing: float


@dataclasses.dataclass(frozen=True)
class State:
  """A run at one moment.

  Attributes:
    title: what runs, such as `sac on gym:Pendulum-v1`.
    phase: what its launcher does.
    elapsed: seconds since it began.
    counted: what the run ends after, `actor steps` or `learner steps`.
    steps: how many there were.
    num_steps: how many there are to be.
    exit_code: of a run that has ended.
    rate: of the steps, a second; None if too little is known.
    tasks: none before the program is made.
    tables: of replay, while its server answers.
    learner_time: None if too little is known.
    returns: of evaluations, oldest first; without evaluators, of actors.
    evaluated: whether evaluators made them.
  """

  title: str
  phase: status.RunState
  elapsed: float
  counted: str
  steps: int
  num_steps: int
  exit_code: int | None = None
  rate: float | None = None
  tasks: Sequence[Task] = ()
  tables: Sequence[table_info.TableInfo] = ()
  learner_time: LearnerTime | None = None
  returns: Sequence[float] = ()
  evaluated: bool = True

  @property
  def seconds_left(self) -> float | None:
    """Until the last step, at the present rate; None if that is not known."""
    if not self.rate:
      return None
    return max(self.num_steps - self.steps, 0) / self.rate
