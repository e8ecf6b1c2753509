"""Hands a run to a cluster, whose scheduler says when and where it runs."""

import contextlib
import dataclasses
import pathlib
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence

from backends.kubernetes import jobset
from backends.kubernetes import manifests as kubernetes_manifests
from backends.kubernetes import options as kubernetes_options
from backends.slurm import job as slurm_job
from backends.slurm import script as slurm_script
from cli import launching
from cli.settings import Settings, WrongUsage
from run_files import run_dir as run_dir_lib

# Of this process alone.
_NOT_PASSED_ON = frozenset(('run_dir', 'resume', 'dry_run', 'verbosity'))


def submit(
  settings: Settings, run_dir: pathlib.Path, place: launching.Place
) -> int:
  """Submits the run to a cluster, or prints what would be submitted.

  Returns:
    The exit code.

  Raises:
    WrongUsage: the program cannot be made, or the cluster does not take it or
      the run directory's name.
  """
  program = settings.make_program(run_dir)
  groups = {label: len(nodes) for label, nodes in program.groups.items()}
  launching.check_roles('resources', place.resources_by_role(), groups)
  return _SUBMIT[place.backend](settings, run_dir, place, groups)


def _to_slurm(
  settings: Settings,
  run_dir: pathlib.Path,
  place: launching.Place,
  groups: Mapping[str, int],
) -> int:
  options = place.slurm_options()
  launching.check_roles('slurm', options, groups)
  parts = slurm_script.components(groups, place.resources_by_role(), options)
  folder = slurm_job.folder(run_dir)
  try:
    script = slurm_script.render(
      run_dir.name,
      parts,
      _slurm_command(run_dir),
      folder / 'plan.json',
      run_dir / 'logs',
    )
  except ValueError as e:
    raise WrongUsage(f'--run_dir: {e}') from e
  if place.dry_run:
    print(script, end='')
    return 0
  is_new = not run_dir_lib.holds_run(run_dir)
  run_dir_lib.write_config(run_dir, dataclasses.asdict(settings))
  (run_dir / 'logs').mkdir(exist_ok=True)
  folder.mkdir(exist_ok=True)
  slurm_script.save_plan(folder / 'plan.json', parts)
  try:
    job = slurm_job.submit(run_dir, script)
  except slurm_job.SlurmError as e:
    if is_new:
      _forget(run_dir)
    raise WrongUsage(f'--backend=slurm: {e}') from e
  _say(
    run_dir,
    'on storage that all nodes share',
    ('job', job),
    f'tail -F {shlex.quote(f"{run_dir}/logs/slurm-{job}.out")}',
    (),
  )
  return 0


def _slurm_command(run_dir: pathlib.Path) -> list[str]:
  """This command line, for the job's launcher to go on with."""
  from backends.supervision import launcher

  given = launcher.command_line_flags(_NOT_PASSED_ON)
  program = str(pathlib.Path(sys.argv[0]).absolute())
  # This began the run; the job goes on with it, however often it is started.
  return [sys.executable, program, *given, f'--run_dir={run_dir}', '--resume']


def _forget(run_dir: pathlib.Path) -> None:
  """Removes what was written of a run that did not begin."""
  shutil.rmtree(slurm_job.folder(run_dir))
  run_dir_lib.config_path(run_dir).unlink()
  with contextlib.suppress(OSError):
    (run_dir / 'logs').rmdir()


def _to_kubernetes(
  settings: Settings,
  run_dir: pathlib.Path,
  place: launching.Place,
  groups: Mapping[str, int],
) -> int:
  options = place.kubernetes_options()
  roles = [*groups, kubernetes_manifests.LAUNCHER]
  launching.check_roles('kubernetes', options.pods, roles)
  _check_on_volume(run_dir, options.mount_path)
  name = kubernetes_manifests.name(run_dir)
  try:
    manifests = kubernetes_manifests.render(
      name,
      groups,
      place.resources_by_role(),
      options,
      _kubernetes_flags(settings, run_dir),
      secrets.token_hex(),
    )
  except ValueError as e:
    raise WrongUsage(f'--backend=kubernetes: {e}') from e
  if place.dry_run:
    print(manifests, end='')
    return 0
  cluster = jobset.Cluster(options.run)
  try:
    _create(cluster, name, manifests, run_dir)
  except jobset.KubernetesError as e:
    raise WrongUsage(f'--backend=kubernetes: {e}') from e
  job = f'job/{name}-{kubernetes_manifests.LAUNCHER}-0'
  _say(
    run_dir,
    f'on the volume {options.claim}',
    ('JobSet', name),
    shlex.join(['kubectl', *cluster.flags, 'logs', '--follow', job]),
    ('--backend=kubernetes', *_where(options)),
  )
  return 0


def _create(
  cluster: jobset.Cluster,
  name: str,
  manifests: str,
  run_dir: pathlib.Path,
) -> None:
  state = cluster.state(name)
  if state is not None and not state.is_finished:
    raise WrongUsage(
      f'--run_dir: the run in {run_dir} is JobSet {name}, {state}; stop it '
      'first, with --stop'
    )
  # What an earlier run in this directory has left.
  cluster.remove(name)
  try:
    cluster.create(manifests)
  except jobset.KubernetesError as e:
    # Another submission of the same run was quicker; these are its objects.
    if 'AlreadyExists' not in str(e):
      with contextlib.suppress(jobset.KubernetesError):
        cluster.remove(name)
    raise


def _check_on_volume(
  run_dir: pathlib.Path, mount_path: pathlib.PurePosixPath
) -> None:
  is_inside = mount_path in run_dir.parents and '..' not in run_dir.parts
  if not is_inside:
    raise WrongUsage(
      f'--run_dir: {run_dir} is not on the volume; name a directory in '
      f'{mount_path}, such as --run_dir={mount_path}/one'
    )


def _kubernetes_flags(settings: Settings, run_dir: pathlib.Path) -> list[str]:
  """What the launcher in its pod is started with, however often.

  All settings, also those that were not said: there must be as many tasks as
  there are pods, whatever the run was resumed from.
  """
  from backends.supervision import launcher

  values = dataclasses.asdict(settings)
  ours = {'backend', 'kubernetes', *values, *_NOT_PASSED_ON}
  return [
    *(f'--{name}={v}' for name, v in values.items() if v is not None),
    *launcher.command_line_flags(ours),
    f'--run_dir={run_dir}',
    '--resume',
  ]


def _where(options: kubernetes_options.Options) -> list[str]:
  """The flag by which `--status` and `--stop` find a run, if they need any."""
  named = [
    f'{name}={options.run[name]}'
    for name in ('namespace', 'context')
    if name in options.run
  ]
  return [f'--kubernetes={",".join(named)}'] if named else []


def _say(
  run_dir: pathlib.Path,
  what_it_is: str,
  job: tuple[str, str],
  output_command: str,
  flags: Sequence[str],
) -> None:
  about = shlex.join([*flags, f'--run_dir={run_dir}'])
  kind, name = job
  print(
    f'{"run directory":<15}{run_dir}  ({what_it_is})\n'
    f'{kind:<15}{name}\n'
    f'{"its output":<15}{output_command}\n'
    f'{"its state":<15}python launch.py --status {about}\n'
    f'{"to stop it":<15}python launch.py --stop {about}'
  )


_SUBMIT = {'slurm': _to_slurm, 'kubernetes': _to_kubernetes}
