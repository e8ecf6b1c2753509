"""The settings of a run, the same for every backend."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from backends.supervision import restarts

if TYPE_CHECKING:
  # Only for types: importing Launchpad defines its flags, and the command line
  # is parsed before Launchpad is needed.
  import launchpad as lp

# Called with a label and a number of tasks. It returns the run's program with
# that many tasks of the label.
Resize = Callable[[str, int], 'lp.Program']


@dataclasses.dataclass(frozen=True)
class RunConfig:
  """The settings of a run.

  Attributes:
    default_env: environment variables of every task. None unsets a variable
      that the launcher has.
    env: for each label, environment variables that its tasks have on top of
      `default_env`. None unsets a variable.
    preload: names of modules that the parent of all tasks (the zygote) imports
      before it forks them. These modules must not start threads.
    start: `fork` forks each task off that parent; `spawn` starts a new
      interpreter for each task.
    restart: the restart policy of each label. If a label has no policy, a crash
      of one of its tasks ends the run.
    stop_order: the stages of a stop, in order; each is a sequence of labels
      whose tasks are asked to stop together. Labels that are not named here
      belong to the first stage.
    spare: labels of tasks that the run can do without for a while when their
      node is lost.
    grace: seconds that the tasks have to stop. Tasks that still run after that
      are killed.
    refuse_open_ports: whether the run fails at its start if the kernel does not
      let it keep other machines off its ports. If not, it goes on.
    log_dir: path of a folder for the logs `<label>_<index>.log` and
      `launcher.log`, and for `status.json`; None to write no files.
  """

  default_env: Mapping[str, str | None] = dataclasses.field(
    default_factory=dict
  )
  env: Mapping[str, Mapping[str, str | None]] = dataclasses.field(
    default_factory=dict
  )
  preload: Sequence[str] = ()
  start: Literal['fork', 'spawn'] = 'fork'
  restart: Mapping[str, restarts.RestartPolicy] = dataclasses.field(
    default_factory=dict
  )
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
    # Each letter of the strings in ('actor', 'learner') would become a label.
    if any(isinstance(stage, str) for stage in self.stop_order):
      raise ValueError(
        "stop_order must be a sequence of sequences, as in [['actor'], "
        f"['learner']], got {self.stop_order!r}."
      )

  def task_env(self, label: str) -> dict[str, str | None]:
    """Returns the environment variables of the tasks of a label."""
    return {**self.default_env, **self.env.get(label, {})}
