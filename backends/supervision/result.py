"""How a run ended, and why one failed."""

import dataclasses
import signal
from collections.abc import Mapping

from backends.process import messages


@dataclasses.dataclass(frozen=True)
class Cause:
  """Why a run failed.

  Attributes:
    task: the name of the task that failed first, `label/index`. If no task
      failed, it is `launcher`, `zygote` or the name of a node.
    exit_code: the exit code of the task's process. If a signal ended it, it is
      minus the signal's number. None if no process ended.
    lines: the traceback of the error; if it is long, without its middle. If
      there is no traceback, the last lines that the process printed.
  """

  task: str
  exit_code: int | None
  lines: tuple[str, ...]

  @property
  def ends_run(self) -> bool:
    """Whether the task reported that a restart would not help."""
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
    exit_code: the exit code for the shell. 0: all tasks ended, or one of them
      called `lp.stop()`; 1: the run failed; 130: it was stopped by Ctrl-C;
      143: by SIGTERM; 129: by SIGHUP.
    cause: the first failure; None if the run did not fail.
    restarts: for each task's name, how many times the task was restarted.
    killed: names of the tasks that were killed, for example because they did
      not stop within `grace` seconds.
    wall_time: seconds from the run's start to its end.
  """

  exit_code: int
  cause: Cause | None
  restarts: Mapping[str, int]
  killed: tuple[str, ...]
  wall_time: float
