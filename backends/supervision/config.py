"""How a program runs, whichever backend runs it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from backends.supervision import restarts

if TYPE_CHECKING:
  # It defines flags, and the command line's are parsed before it is needed.
  import launchpad as lp

# Called with a label and a number; returns the program with that many tasks of
# the label.
Resize = Callable[[str, int], 'lp.Program']


@dataclasses.dataclass(frozen=True)
class RunConfig:
  """How a program runs.

  Attributes:
    default_env: environment variables of every task; None unsets one that the
      launcher has.
    env: environment variables by label, over `default_env`; None unsets.
    preload: modules that the parent of all tasks imports before it forks them.
      They must start no thread.
    start: `fork` tasks off that parent, or `spawn` an interpreter for each.
    restart: restart policies by label. A crash of a task without one ends the
      run.
    stop_order: labels in the order in which they are asked to stop; those of
      one inner sequence together. Labels that it does not name are in the first
      stage.
    spare: labels of tasks that the run can go on without, for a while, when
      their node is lost.
    grace: seconds from the request to stop until what still runs is killed.
    refuse_open_ports: whether to refuse to begin if the kernel does not let the
      run keep other machines off its ports.
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
    # ('actor', 'learner') would be read as labels of one letter.
    if any(isinstance(stage, str) for stage in self.stop_order):
      raise ValueError(
        "stop_order must be a sequence of sequences, as in [['actor'], "
        f"['learner']], got {self.stop_order!r}."
      )

  def task_env(self, label: str) -> dict[str, str | None]:
    """Returns the environment variables of the tasks of a label."""
    return {**self.default_env, **self.env.get(label, {})}
