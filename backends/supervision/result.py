"""How a run ended, and why one failed."""

import dataclasses
import signal
from collections.abc import Mapping

from backends.process import messages


@dataclasses.dataclass(frozen=True)
class Cause:
  """Why a run failed.

  Attributes:
    task: the name of the task that failed first, `label/index`; or `launcher`,
      `zygote` or the name of a node.
    exit_code: the exit code of its process; minus the number of the signal that
      ended it; None if no process ended.
    lines: the traceback of the error, its middle left out if it is long; or, if
      there is none, the last lines that the process printed.
  """

  task: str
  exit_code: int | None
  lines: tuple[str, ...]

  @property
  def ends_run(self) -> bool:
    """Whether the task said that it would fail again after a restart."""
    return self.exit_code == messages.ENDS_RUN

  @property
  def signal(self) -> str | None:
    """The name of the signal that ended the process, such as `SIGKILL`."""
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
    restarts: by the task's name, how many times it was started again.
    killed: names of the tasks that did not stop within the time of grace.
    wall_time: seconds from start to end.
  """

  exit_code: int
  cause: Cause | None
  restarts: Mapping[str, int]
  killed: tuple[str, ...]
  wall_time: float
