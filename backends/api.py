"""What a backend is: where the processes of a Launchpad program run.

A new backend is a folder with a class that implements `Backend`, and one line
in `registry`. A small backend to copy is `tests/backends/printing.py`;
`tests/backends/test_registry.py` registers and tests it. `CONTRIBUTING.md`
lists the steps.
"""

import dataclasses
import enum
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from backends import resources as resources_lib
from backends.supervision import config as config_lib
from backends.supervision import output
from backends.supervision import result as result_lib

if TYPE_CHECKING:
  import launchpad as lp


# The resources of each task by label. A label that is missing has
# `Resources()`, the least: one core and no accelerator.
ResourcesByLabel = Mapping[str, resources_lib.Resources]


class RefusedError(ValueError):
  """The flags ask for what a backend cannot do.

  The message says what to do instead.
  """


class BackendError(RuntimeError):
  """The system under a backend, such as a scheduler, fails or is silent."""


class Flag(NamedTuple):
  """A flag of the command line that only one backend takes.

  Attributes:
    name: the flag's name, which is also a parameter of the backend's
      constructor.
    default: its value when it is not given, a text or a bool.
    help: its text in `--help`.
  """

  name: str
  default: str | bool
  help: str


class Part(enum.Enum):
  """What this process does for a run."""

  # It launches the tasks and watches over them. A person started it.
  LAUNCHER = enum.auto()
  # It does the same, but the backend's scheduler started it. The scheduler
  # never runs two at a time, and may start it again with the same command line.
  SCHEDULED_LAUNCHER = enum.auto()
  # It hands the run to a scheduler, and ends.
  SUBMITTER = enum.auto()


@dataclasses.dataclass(frozen=True)
class Submission:
  """A run for a scheduler.

  Attributes:
    run_dir: the run directory's absolute path.
    program: what is to run.
    flags: the flags with which the scheduler starts `launch.py`, each time.
  """

  run_dir: pathlib.Path
  program: 'lp.Program'
  flags: Sequence[str]

  @property
  def groups(self) -> dict[str, int]:
    """The number of tasks by the program's labels."""
    groups = self.program.groups
    return {label: len(nodes) for label, nodes in groups.items()}


@dataclasses.dataclass(frozen=True)
class Submitted:
  """A run that a scheduler has taken.

  Attributes:
    storage: where the run directory is, such as `in a bucket`.
    facts: further names and values to print, such as `('job', '12')`.
    flags: the flags that the verbs need to find the run, besides its directory;
      None if they cannot find it.
  """

  storage: str
  facts: Sequence[tuple[str, str]] = ()
  flags: Sequence[str] | None = None


class Backend(Protocol):
  """Where a run's processes are.

  A backend derives from this class. The parameters of its constructor are
  `name`, `resources` and one for each of its `FLAGS`, with the flag's name. The
  constructor raises a `RefusedError` if a flag has a wrong value.

  Attributes:
    FLAGS: the flags that only this backend takes.
    SUBMITS: whether the command that a person types hands the run to a
      scheduler, which starts the launcher later.
    HAS_DRY_RUN: whether `describe` can tell what would be submitted.
    IS_SUPERVISED: whether the run's launcher writes the status file, restarts
      tasks and prints their lines.
    USES_THIS_MACHINE: whether all tasks are processes of this machine.
    RUN_DIR_IS_ON_VOLUME: whether the run directory is on a volume that only the
      run's processes see. The command neither reads nor locks it.
    name: the value of `--backend` or `--lp_launch_type`.
    resources: the resources of each task by label. A label that is missing has
      `Resources()`, the least.
  """

  FLAGS: ClassVar[Sequence[Flag]] = ()
  SUBMITS: ClassVar[bool] = False
  HAS_DRY_RUN: ClassVar[bool] = False
  IS_SUPERVISED: ClassVar[bool] = True
  USES_THIS_MACHINE: ClassVar[bool] = False
  RUN_DIR_IS_ON_VOLUME: ClassVar[bool] = False

  name: str
  resources: ResourcesByLabel

  @classmethod
  def has_started_this(cls) -> bool:
    """Whether the backend's scheduler started this process as a launcher."""
    return False

  @property
  def part(self) -> Part:
    """What this process does for a run."""
    if self.has_started_this():
      return Part.SCHEDULED_LAUNCHER
    return Part.SUBMITTER if self.SUBMITS else Part.LAUNCHER

  def check(self, run_dir: pathlib.Path, dry_run: bool) -> None:
    """Checks what can be checked before the program is built.

    Args:
      run_dir: the run directory's absolute path.
      dry_run: whether `describe` is called instead of `submit`.

    Raises:
      RefusedError: the run cannot begin here.
    """

  def run(
    self,
    make_program: 'Callable[[], lp.Program]',
    *,
    config: config_lib.RunConfig,
    on_line: output.OnLine,
    resize: config_lib.Resize | None = None,
  ) -> result_lib.Result:
    """Runs a program to its end. Only a launcher calls this.

    Args:
      make_program: builds the program.
      config: the run's settings.
      on_line: called for each line that a task prints, with the task's label,
        its index, and the line's text.
      resize: builds the program with another number of tasks of a label; None
        if that number is fixed.

    Returns:
      How the run ended.

    Raises:
      RefusedError: the run cannot begin here.
    """
    raise NotImplementedError

  def describe(self, submission: Submission) -> str:
    """Returns the text of what `submit` would hand to the scheduler.

    Raises:
      RefusedError: the run cannot be submitted.
    """
    raise NotImplementedError

  def submit(self, submission: Submission) -> Submitted:
    """Hands a run to the scheduler. Only a submitter calls this.

    Raises:
      RefusedError: the scheduler does not take the run. Nothing is left of it.
    """
    raise NotImplementedError

  def state(self, run_dir: pathlib.Path) -> str | None:
    """Returns the state of a run, such as `job 12: RUNNING`.

    Args:
      run_dir: the run directory's absolute path.

    Returns:
      The state; None if no run of this backend goes on in that directory.

    Raises:
      RefusedError: the backend cannot tell.
    """
    del run_dir
    return None

  def status(self, run_dir: pathlib.Path) -> str | None:
    """Returns what the backend knows of a run besides the run's files.

    Args:
      run_dir: the run directory's absolute path.

    Returns:
      Lines to print before the run's status; None if there are none.

    Raises:
      RefusedError: the backend cannot tell.
    """
    return self.state(run_dir)

  def stop(self, run_dir: pathlib.Path) -> None:
    """Stops a run, and returns when it has ended.

    Raises:
      BackendError: the run has not ended in time.
      RefusedError: the run cannot be stopped from here.
    """
    raise NotImplementedError

  def scale(self, run_dir: pathlib.Path, label: str, count: int) -> None:
    """Changes the number of tasks of a label while a run goes on.

    Args:
      run_dir: the run directory's absolute path.
      label: the label of the tasks.
      count: the new number of tasks.

    Raises:
      BackendError: the run goes on with as many tasks as before.
      RefusedError: the run's size is fixed.
    """
    del label, count
    raise RefusedError(
      f'the run in {run_dir} ({self.state(run_dir)}) has a fixed size; stop '
      'it, and begin it again with --resume and --num_actors'
    )
