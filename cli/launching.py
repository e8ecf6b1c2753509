"""Runs or submits the program that the flags describe, where they say."""

import contextlib
import dataclasses
import functools
import pathlib
import shlex

from backends import api, registry
from backends import resources as resources_lib
from cli import metric_sinks, resuming, watching
from cli.settings import Settings, WrongUsage
from run_files import run_dir as run_dir_lib
from run_files import screen
from system import stops

# Flags of this process alone.
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
    choice: where the run's processes are.
    watch: how it is watched.
    resume: whether to go on with the run that is in the directory.

  Returns:
    The exit code.

  Raises:
    RefusedError: the backend cannot run it.
    WrongUsage: the program or its directory cannot be made.
  """
  backend = registry.make(choice)
  backend.check(run_dir, choice.dry_run)
  begin = _run
  if backend.part == api.Part.SUBMITTER:
    begin = _describe if choice.dry_run else _submit
    if choice.dry_run or backend.RUN_DIR_IS_ON_VOLUME:
      return begin(settings, run_dir, backend, watch)
  with stops.undoing(lambda: run_dir_lib.remove_if_unused(run_dir)):
    _make_run_dir(settings, run_dir, backend, resume)
    try:
      return begin(settings, run_dir, backend, watch)
    finally:
      run_dir_lib.remove_if_unused(run_dir)


def _make_run_dir(
  settings: Settings, run_dir: pathlib.Path, backend: api.Backend, resume: bool
) -> None:
  """Makes the run directory, or checks the one to go on with.

  Raises:
    WrongUsage: it cannot be made, or is another run's.
    DamagedError: what is to go on is damaged.
  """
  is_scheduled = backend.part == api.Part.SCHEDULED_LAUNCHER
  # A scheduler starts it with the same flags the first time and later.
  begins = is_scheduled and not run_dir_lib.holds_run(run_dir)
  try:
    if resume and not begins:
      run_dir_lib.check_resume(run_dir, dataclasses.asdict(settings))
      # A scheduler starts one launcher of a run at a time.
      if not is_scheduled:
        _check_not_running(run_dir)
      resuming.check(run_dir)
    else:
      run_dir_lib.create(run_dir)
    # A volume may keep the lock of a launcher whose node is lost.
    if backend.part != api.Part.SUBMITTER and not backend.RUN_DIR_IS_ON_VOLUME:
      run_dir_lib.lock(run_dir)
  except (OSError, ValueError) as e:
    raise WrongUsage(f'--run_dir: {e}') from e


def _check_not_running(run_dir: pathlib.Path) -> None:
  for backend in registry.candidates(registry.Choice()):
    state = backend.state(run_dir)
    if state is not None:
      raise ValueError(
        f'the run in {run_dir} still goes on, as {state}; stop it first, with '
        f'`python launch.py stop {run_dir}`'
      )


def _describe(
  settings: Settings,
  run_dir: pathlib.Path,
  backend: api.Backend,
  watch: watching.Watch,
) -> int:
  """Prints what would be submitted."""
  del watch
  submission = _submission(settings, run_dir, backend)
  print(backend.describe(submission), end='')
  return 0


def _submit(
  settings: Settings,
  run_dir: pathlib.Path,
  backend: api.Backend,
  watch: watching.Watch,
) -> int:
  """Hands the run to a scheduler, and says how to look after it."""
  del watch  # Its launcher does.
  submission = _submission(settings, run_dir, backend)
  if backend.RUN_DIR_IS_ON_VOLUME:
    submitted = backend.submit(submission)
  else:
    with _config(settings, run_dir):
      submitted = backend.submit(submission)
  lines = [('run directory', f'{run_dir}  ({submitted.storage})')]
  lines += submitted.facts
  if submitted.flags is not None:
    about = shlex.join([str(run_dir), *submitted.flags])
    lines += [
      ('its state', f'python launch.py status {about}'),
      ('to stop it', f'python launch.py stop {about}'),
    ]
  for name, value in lines:
    print(f'{name:<15}{value}')
  return 0


def _submission(
  settings: Settings, run_dir: pathlib.Path, backend: api.Backend
) -> api.Submission:
  from backends.supervision import launcher

  program = _make_program(settings, run_dir, backend)
  values = dataclasses.asdict(settings)
  own_flags = [flag.name for flag in registry.flags()]
  flags = [
    # All settings, also those that were not given: there must be as many tasks
    # as there is room for, whatever the run was resumed from.
    *(f'--{name}={v}' for name, v in values.items() if v is not None),
    *launcher.command_line_flags({*values, *own_flags, *_NOT_PASSED_ON}),
    f'--run_dir={run_dir}',
    # The launcher begins the run at its first start, and goes on with it later.
    '--resume',
  ]
  return api.Submission(run_dir, program, flags)


@contextlib.contextmanager
def _config(settings: Settings, run_dir: pathlib.Path):
  """Writes the run's settings; takes them back if the run is then refused."""
  is_new = not run_dir_lib.holds_run(run_dir)
  run_dir_lib.write_config(run_dir, dataclasses.asdict(settings))
  try:
    yield
  except api.RefusedError:
    if is_new:
      run_dir_lib.config_path(run_dir).unlink()
    raise


def _run(
  settings: Settings,
  run_dir: pathlib.Path,
  backend: api.Backend,
  watch: watching.Watch,
) -> int:
  """Runs the program to its end, and says what came of it."""
  from cli import ending, roles
  from reporting.sinks import followers

  config = roles.run_config(
    str(run_dir / 'logs'), settings.preload, backend.resources
  )
  make_program = functools.partial(
    _make_and_keep_program, settings, run_dir, backend
  )
  if not backend.IS_SUPERVISED:
    with followers.following(watch.sinks, run_dir, metric_sinks.show):
      return backend.run(make_program, config=config, on_line=print).exit_code
  resize = None
  if settings.program == 'distributed':
    resize = functools.partial(_resize, settings, run_dir, backend)
  screen.show(f'{"run directory":<15}{run_dir}')
  with watching.watching(settings, run_dir, watch) as printer:
    result = backend.run(
      lambda: _on_cpu(make_program),
      config=config,
      on_line=printer,
      resize=resize,
    )
  return ending.end(settings, run_dir, result)


def _make_program(
  settings: Settings, run_dir: pathlib.Path, backend: api.Backend
):
  """Returns the `lp.Program`.

  Raises:
    WrongUsage: it cannot be made, or `--resources` names no role of it.
  """
  program = settings.make_program(run_dir)
  try:
    resources_lib.check_roles(backend.resources, program.groups)
  except ValueError as e:
    raise WrongUsage(f'--resources: {e}') from e
  return program


def _make_and_keep_program(
  settings: Settings, run_dir: pathlib.Path, backend: api.Backend
):
  """Returns the `lp.Program` after the run directory has its settings."""
  program = _make_program(settings, run_dir, backend)
  run_dir_lib.write_config(run_dir, dataclasses.asdict(settings))
  return program


def _on_cpu(make_program):
  """Makes a program where no learner runs, and leaves accelerators alone."""
  import jax

  jax.config.update('jax_platforms', 'cpu')
  return make_program()


def _resize(
  settings: Settings,
  run_dir: pathlib.Path,
  backend: api.Backend,
  label: str,
  count: int,
):
  """Makes the program with so many actors, and has the settings say so."""
  del label  # There is no other role of which there may be more.
  changed = dataclasses.replace(settings, num_actors=count)
  return _make_and_keep_program(changed, run_dir, backend)
