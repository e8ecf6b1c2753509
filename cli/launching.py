"""Runs a program where the flags say."""

import contextlib
import dataclasses
import functools
import importlib.util
import pathlib
import shutil
import sys
from collections.abc import Mapping, Sequence

from backends import resources as resources_lib
from backends.kubernetes import manifests
from backends.kubernetes import options as kubernetes_options
from backends.slurm import script
from cli import commands
from cli.settings import Settings, WrongUsage
from run_files import run_dir as run_dir_lib
from run_files import screen
from system import stops, streams

# By backend, whose flags have its name: where its command is typed.
_COMMANDS = {
  'slurm': ('sbatch', 'type the command on a login node of the cluster'),
  'kubernetes': ('kubectl', 'install it'),
}


@dataclasses.dataclass(frozen=True)
class Place:
  """The flags of `launch.py` that say where a program runs.

  Attributes:
    backend: `local`, `slurm`, `kubernetes` or `ray`.
    launch_type: `local`, or one of Launchpad's own launch types.
    resources: what each role is given, as `resources.parse` reads it.
    slurm: sbatch's options, as `slurm_script.parse_options` reads them.
    kubernetes: options, as `kubernetes_options.parse` reads them.
    dry_run: whether to print alone what would be submitted.
    ray_address: of the cluster.
    refuse_open_ports: as of `backends.supervision.config.RunConfig`.
  """

  backend: str
  launch_type: str
  resources: str
  slurm: str
  kubernetes: str
  dry_run: bool
  ray_address: str
  refuse_open_ports: bool = False

  def check(self) -> None:
    """Checks what can be checked without the program.

    Raises:
      WrongUsage: something is wrong.
    """
    if self.launch_type != 'local':
      name = f'--lp_launch_type={self.launch_type}'
      if self.backend != 'local':
        raise WrongUsage(
          f'--backend={self.backend} and {name} exclude each other'
        )
      if self.resources and self.launch_type != 'vertex_ai':
        raise WrongUsage(f'--resources: {name} does not take any')
    for backend in _COMMANDS:
      if getattr(self, backend) and self.backend != backend:
        raise WrongUsage(f'--{backend} needs --backend={backend}')
    if self.refuse_open_ports and (self.backend, self.launch_type) != (
      ('local', 'local')
    ):
      raise WrongUsage('--refuse_open_ports: only for runs on this machine')
    self.resources_by_role()
    self.slurm_options()
    self.kubernetes_options()
    if self.dry_run and self.backend not in _COMMANDS:
      backends = ' or '.join(f'--backend={each}' for each in _COMMANDS)
      raise WrongUsage(f'--dry_run needs {backends}')
    if self.backend == 'ray' and importlib.util.find_spec('ray') is None:
      raise WrongUsage(
        "--backend=ray needs a package: pip install 'launchpad-rl[ray]'"
      )
    if self.backend in _COMMANDS and not self.dry_run:
      self._check_command()

  def _check_command(self) -> None:
    command, way_out = _COMMANDS[self.backend]
    if shutil.which(command) is None:
      raise WrongUsage(
        f'--backend={self.backend}: {command} is not there; {way_out}, or see '
        'what would be submitted with --dry_run'
      )

  def resources_by_role(self) -> dict[str, resources_lib.Resources]:
    try:
      return resources_lib.parse(self.resources)
    except ValueError as e:
      raise WrongUsage(f'--resources: {e}') from e

  def slurm_options(self) -> dict[str | None, dict[str, str]]:
    try:
      return script.parse_options(self.slurm)
    except ValueError as e:
      raise WrongUsage(f'--slurm: {e}') from e

  def kubernetes_options(self) -> kubernetes_options.Options:
    """Returns the options of a run there, of which none is missing."""
    try:
      options = kubernetes_options.parse(self.kubernetes)
      if self.backend == 'kubernetes':
        options.check_complete()
    except ValueError as e:
      raise WrongUsage(f'--kubernetes: {e}') from e
    return options


@dataclasses.dataclass(frozen=True)
class Watch:
  """The flags of `launch.py` that say how a run is watched.

  Attributes:
    stuck_after: seconds without a step after which it says who waits for whom.
    quiet: whether to show no metrics.
    metrics: where they go beside the CSV files.
  """

  stuck_after: float
  quiet: bool
  metrics: Sequence[str]


def check_not_running(run_dir: pathlib.Path) -> None:
  """Raises `ValueError` if the run in a directory still goes on."""
  from run_files import status

  if script.in_job() or manifests.in_launcher():
    return  # Slurm runs a job once at a time, and Kubernetes a launcher.
  job, state = commands.job(run_dir)
  if state is not None:
    raise ValueError(
      f'the run in {run_dir} is job {job} of Slurm, {state}; stop it first, '
      'with --stop'
    )
  launcher = status.living(str(run_dir / 'logs'))
  if launcher is not None:
    raise ValueError(
      f'the run in {run_dir} still goes on, as process {launcher.pid}; stop '
      'it first'
    )


def run(
  settings: Settings, run_dir: pathlib.Path, place: Place, watch: Watch
) -> int:
  """Runs the program to its end and says what came of it.

  Args:
    settings: of the run.
    run_dir: of the run.
    place: where its processes run; of a cluster, this is the launcher there.
    watch: how it is watched.

  Returns:
    The exit code.

  Raises:
    WrongUsage: the program cannot be made.
  """
  from cli import ending, roles
  from reporting.sinks import followers
  from watchdog import stall

  given = _given(place)
  screen.show(f'{"run directory":<15}{run_dir}')
  with contextlib.ExitStack() as stack:
    printer = stack.enter_context(_shown(settings, run_dir, watch.quiet))
    stack.enter_context(
      followers.following(
        watch.metrics, run_dir, lambda line: printer('metrics', 0, line)
      )
    )
    stack.enter_context(
      stall.Watchdog(
        run_dir, watch.stuck_after, lambda line: printer('watchdog', 0, line)
      )
    )
    result = _backend(settings, run_dir, place, given)(
      lambda: _make_program_on_cpu(settings, run_dir, given),
      config=roles.run_config(str(run_dir / 'logs'), settings.preload, given),
      on_line=printer,
      say_cause=False,
    )
  return ending.end(settings, run_dir, result)


@contextlib.contextmanager
def _shown(settings: Settings, run_dir: pathlib.Path, quiet: bool):
  """Shows the run while the body runs; yields what prints its tasks' lines."""
  from cli import roles
  from view import live, state

  # Asked before a view has a pipe in the terminal's place.
  coloured = streams.takes_colours(sys.stdout)
  printer = roles.Printer(rows=not quiet, coloured=coloured, quiet=quiet)
  if quiet:
    yield printer
    return
  goal = state.Goal(
    title=f'{settings.agent} on {settings.env}',
    num_steps=settings.num_steps,
    has_actors=settings.program != 'offline',
  )
  with live.show(run_dir, goal, printer):
    yield printer


def _given(place: Place) -> dict[str, resources_lib.Resources]:
  if place.backend != 'slurm':
    return place.resources_by_role()
  from backends.slurm import allocation as slurm

  return slurm.resources()


def _backend(
  settings: Settings,
  run_dir: pathlib.Path,
  place: Place,
  given: dict[str, resources_lib.Resources],
):
  """Returns what runs a program there, as `backends.local.local.run` does."""
  if manifests.in_launcher():
    from backends.cluster import joining

    return joining.run
  if place.backend == 'slurm':
    from backends.slurm import allocation as slurm

    return slurm.run
  resize = None
  if settings.program == 'distributed':
    resize = functools.partial(_resize, settings, run_dir, given)
  if place.backend == 'ray':
    return functools.partial(_run_on_ray, place, given, resize)
  return functools.partial(_run_here, place, resize)


def _run_here(place: Place, resize, program, *, config, **how):
  from backends.local import local

  config = dataclasses.replace(
    config, refuse_open_ports=place.refuse_open_ports
  )
  try:
    return local.run(program, config=config, resize=resize, **how)
  except local.OpenPortsError as e:
    raise WrongUsage(f'--refuse_open_ports: {e}') from e


def _run_on_ray(place: Place, given, resize, program, **how):
  from backends.ray import ray_cluster, ray_driver

  try:
    return ray_cluster.run(
      program,
      address=place.ray_address,
      resources=given,
      resize=resize,
      **how,
    )
  except ray_driver.NoClusterError as e:
    raise WrongUsage(f'--ray_address: {e}') from e


def _resize(
  settings: Settings, run_dir: pathlib.Path, given, label: str, count: int
):
  """Makes the program with so many actors, which it now is."""
  del label  # There is no other role of which there may be more.
  changed = dataclasses.replace(settings, num_actors=count)
  return make_program(changed, run_dir, given)


def run_stock(
  settings: Settings, run_dir: pathlib.Path, launch_type: str, watch: Watch
) -> int:
  """Runs the program by one of Launchpad's own launch types."""
  import launchpad as lp

  from reporting.sinks import followers

  with followers.following(watch.metrics, run_dir, commands.print_metrics):
    program = make_program(settings, run_dir, {})
    # Launchpad handles them itself.
    stops.give_up()
    running = lp.launch(program, launch_type, terminal='current_terminal')
    if running is not None:
      running.wait()
  return 0


def make_program(
  settings: Settings,
  run_dir: pathlib.Path,
  given: Mapping[str, resources_lib.Resources],
):
  """Returns the `lp.Program` of a run, which its directory then knows of.

  Args:
    settings: of the run.
    run_dir: of the run.
    given: resources by role.

  Raises:
    WrongUsage: it cannot be made, or has no such role.
  """
  program = settings.make_program(run_dir)
  check_roles('resources', given, program.groups)
  run_dir_lib.write_config(run_dir, dataclasses.asdict(settings))
  return program


def _make_program_on_cpu(settings: Settings, run_dir: pathlib.Path, given):
  """Makes the program where no learner runs, and leaves accelerators alone."""
  import jax

  jax.config.update('jax_platforms', 'cpu')
  return make_program(settings, run_dir, given)


def check_roles(flag: str, named, roles) -> None:
  try:
    resources_lib.check_roles(named, roles)
  except ValueError as e:
    raise WrongUsage(f'--{flag}: {e}') from e
