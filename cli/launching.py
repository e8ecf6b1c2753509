"""Runs the program that the flags describe, or submits it to a cluster."""

import contextlib
import dataclasses
import pathlib
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from backends import api, registry
from backends import resources as resources_lib
from cli import metric_sinks, resuming, watching
from cli.settings import Settings, WrongUsage
from run_files import run_dir as run_dir_lib
from run_files import screen
from system import stops

if TYPE_CHECKING:
  import launchpad as lp

# A scheduler starts the launcher without these flags.
_NOT_PASSED_ON = (
  *('backend', 'run_dir', 'resume', 'dry_run'),
  *('verbosity', 'v'),
)


def train(
  settings: Settings,
  run_dir: pathlib.Path,
  choice: registry.Choice,
  watch: watching.Watch,
  resume: bool,
) -> int:
  """Begins a run, or goes on with one.

  Args:
    settings: the flags' values that describe the run; they have been checked.
    run_dir: the run directory's absolute path.
    choice: the backend and its options, as the flags say.
    watch: how the run is watched.
    resume: whether to go on with the run in the directory.

  Returns:
    The exit code.

  Raises:
    RefusedError: the backend cannot run it.
    WrongUsage: the program or its directory cannot be made.
  """
  backend = registry.make(choice)
  backend.check(run_dir, choice.dry_run)
  launch = Launch(settings, run_dir, backend)
  if choice.dry_run:
    return launch.describe()
  is_submitter = backend.part == api.Part.SUBMITTER
  if is_submitter and backend.RUN_DIR_IS_ON_VOLUME:
    return launch.submit()
  with stops.undoing(lambda: run_dir_lib.remove_if_unused(run_dir)):
    launch.make_run_dir(resume)
    try:
      return launch.submit() if is_submitter else launch.run(watch)
    finally:
      run_dir_lib.remove_if_unused(run_dir)


@dataclasses.dataclass(frozen=True)
class Launch:
  """A run that is about to begin.

  Attributes:
    settings: the flags' values that describe the run.
    run_dir: the run directory's absolute path.
    backend: where the run's processes are.
  """

  settings: Settings
  run_dir: pathlib.Path
  backend: api.Backend

  def make_run_dir(self, resume: bool) -> None:
    """Makes the run directory; when a run is resumed, checks the existing one.

    Raises:
      WrongUsage: the directory cannot be made, or holds another run.
      DamagedError: a file of the run to resume is damaged.
    """
    part = self.backend.part
    # At the first start, too, a scheduler's launcher gets `--resume`.
    if part == api.Part.SCHEDULED_LAUNCHER:
      resume = resume and run_dir_lib.holds_run(self.run_dir)
    try:
      if resume:
        run_dir_lib.check_resume(self.run_dir, self._config)
        # A scheduler never runs two launchers of a run at a time.
        if part != api.Part.SCHEDULED_LAUNCHER:
          _check_not_running(self.run_dir)
        resuming.check(self.run_dir)
      else:
        run_dir_lib.create(self.run_dir)
      # A volume may keep the lock of a launcher whose node is lost.
      is_lockable = not self.backend.RUN_DIR_IS_ON_VOLUME
      if part != api.Part.SUBMITTER and is_lockable:
        run_dir_lib.lock(self.run_dir)
    except (OSError, ValueError) as e:
      raise WrongUsage(f'--run_dir: {e}') from e

  def describe(self) -> int:
    """Prints what would be submitted; returns the exit code."""
    print(self.backend.describe(self._submission()), end='')
    return 0

  def submit(self) -> int:
    """Submits the run, prints how to follow it and stop it, and returns 0."""
    submission = self._submission()
    with self._kept_config():
      submitted = self.backend.submit(submission)
    lines = [('run directory', f'{self.run_dir}  ({submitted.storage})')]
    lines += submitted.facts
    if submitted.flags is not None:
      about = shlex.join([str(self.run_dir), *submitted.flags])
      lines += [
        ('its state', f'python launch.py status {about}'),
        ('to stop it', f'python launch.py stop {about}'),
      ]
    for name, value in lines:
      print(f'{name:<15}{value}')
    return 0

  def _submission(self) -> api.Submission:
    from backends.supervision import launcher

    program = self._make_program()
    own_flags = [flag.name for flag in registry.flags()]
    flags = [
      # All settings are passed, even those that were not typed. Otherwise the
      # launcher would take them from the run that it resumes, which may have
      # had more tasks than there is room for in this job.
      *(f'--{k}={v}' for k, v in self._config.items() if v is not None),
      *launcher.command_line_flags(
        {*self._config, *own_flags, *_NOT_PASSED_ON}
      ),
      f'--run_dir={self.run_dir}',
      # The launcher begins the run at its first start, and goes on with it
      # at each later one.
      '--resume',
    ]
    return api.Submission(self.run_dir, program, flags)

  @contextlib.contextmanager
  def _kept_config(self) -> Iterator[None]:
    """Writes the run's settings; removes them if the body is refused."""
    if self.backend.RUN_DIR_IS_ON_VOLUME:
      yield
      return
    is_new = not run_dir_lib.holds_run(self.run_dir)
    run_dir_lib.write_config(self.run_dir, self._config)
    try:
      yield
    except api.RefusedError:
      if is_new:
        run_dir_lib.config_path(self.run_dir).unlink()
      raise

  def run(self, watch: watching.Watch) -> int:
    """Runs the program to its end, and prints how it ended.

    Args:
      watch: how the run is watched.

    Returns:
      The exit code.
    """
    from cli import ending, roles
    from reporting.sinks import followers

    config = roles.run_config(
      str(self.run_dir / 'logs'), self.settings.preload, self.backend.resources
    )
    if not self.backend.IS_SUPERVISED:
      with followers.following(watch.sinks, self.run_dir, metric_sinks.show):
        result = self.backend.run(
          self._make_and_keep, config=config, on_line=print
        )
      return result.exit_code
    screen.show(f'{"run directory":<15}{self.run_dir}')
    is_scalable = self.settings.program == 'distributed'
    with watching.watching(self.settings, self.run_dir, watch) as printer:
      result = self.backend.run(
        self._make_on_cpu,
        config=config,
        on_line=printer,
        resize=self._resize if is_scalable else None,
      )
    return ending.end(self.settings, self.run_dir, result)

  @property
  def _config(self) -> dict[str, str | int | float | bool | None]:
    """The settings by the names of their flags."""
    return dataclasses.asdict(self.settings)

  def _make_program(self) -> 'lp.Program':
    """Returns the program.

    Raises:
      WrongUsage: it cannot be made, or `--resources` names a role that it
        lacks.
    """
    program = self.settings.make_program(self.run_dir)
    try:
      resources_lib.check_roles(self.backend.resources, program.groups)
    except ValueError as e:
      raise WrongUsage(f'--resources: {e}') from e
    return program

  def _make_and_keep(self) -> 'lp.Program':
    """Returns the program, and writes its settings to the run directory."""
    program = self._make_program()
    run_dir_lib.write_config(self.run_dir, self._config)
    return program

  def _make_on_cpu(self) -> 'lp.Program':
    """Returns the program, made on the CPU: the learner gets accelerators."""
    import jax

    jax.config.update('jax_platforms', 'cpu')
    return self._make_and_keep()

  def _resize(self, label: str, count: int) -> 'lp.Program':
    """Returns the program with `count` actors, and writes that to its settings.

    Args:
      label: ignored, since `actor` is the only role that can be scaled.
      count: the new number of actors.
    """
    del label
    settings = dataclasses.replace(self.settings, num_actors=count)
    return dataclasses.replace(self, settings=settings)._make_and_keep()


def _check_not_running(run_dir: pathlib.Path) -> None:
  """Raises `ValueError` if the run in a directory still goes on."""
  for backend in registry.candidates(registry.Choice()):
    state = backend.state(run_dir)
    if state is not None:
      raise ValueError(
        f'the run in {run_dir} still goes on, as {state}; stop it first, with '
        f'`python launch.py stop {run_dir}`'
      )
