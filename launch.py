"""Trains an agent as one distributed program: flags in, a run directory out.

python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
"""

from system import stops, streams

if __name__ == '__main__':
  stops.begin()
  streams.begin()

import contextlib
import dataclasses
import errno
import os
import pathlib
import re
import sys

from tools import check

if __name__ == '__main__':
  check.check()

from absl import app, flags

from backends.kubernetes import manifests
from backends.slurm import script
from cli import command_line as cli
from cli import (
  commands,
  jobsets,
  launching,
  resuming,
  scale,
  stopping,
  submitting,
  vertex,
)
from cli import settings as settings_lib
from programs import own_modules
from programs.agents import listing
from run_files import damage, screen
from run_files import run_dir as run_dir_lib

# For --help.
flags.adopt_module_key_flags(cli)

_FAILED = 1
_WRONG_USAGE = 2


def main(argv: list[str]) -> int:
  """Does what the flags ask for; returns the exit code."""
  # Launchpad, once imported, defines this flag over again with its own default.
  launch_type = cli.LAUNCH_TYPE.value
  on_kubernetes = cli.BACKEND.value == 'kubernetes'
  if cli.LIST.value:
    screen.show(listing.text())
    return 0
  try:
    if on_kubernetes and (cli.STATUS.value or cli.STOP.value):
      act = jobsets.show_status if cli.STATUS.value else jobsets.stop
      return act(_run_dir(), cli.KUBERNETES.value)
    if cli.STATUS.value:
      return commands.show_status(_run_dir())
    if cli.STOP.value:
      return stopping.stop(_run_dir())
    if cli.SCALE.value is not None:
      return scale.scale(_run_dir(), cli.SCALE.value)
    if cli.REPORT.value:
      named = [*(cli.RUN_DIR.value or ()), *argv[1:]]
      return commands.write_report(named, cli.REPORT_PATH.value)
    if cli.SEND_METRICS.value:
      return commands.send_metrics(_run_dir(), cli.METRICS.value)
    if cli.EXPORT.value:
      return commands.export_policy(_run_dir())
    if cli.EVALUATE.value:
      return commands.evaluate(_run_dir(), cli.EPISODES.value, cli.VIDEO.value)
    if argv[1:]:
      return refuse(f'{argv[1]!r} is no flag; see --help')
    if cli.SEEDS.value:
      return run_seeds(launch_type)
    return train(launch_type)
  except settings_lib.WrongUsage as e:
    return refuse(str(e))
  except damage.DamagedError as e:
    return refuse(str(e), _FAILED)
  except OSError as e:
    if not _is_about_storage(e):
      raise
    return refuse(str(e), _FAILED)
  except own_modules.OwnCodeError as e:
    screen.show(e.traceback(), file=sys.stderr)
    return refuse(str(e), _FAILED)


def train(launch_type: str) -> int:
  """Runs the program that the flags describe; returns the exit code.

  Raises:
    settings_lib.WrongUsage: there is no such program.
  """
  run, place = checked(launch_type)
  run_dir = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  if launch_type == 'vertex_ai':
    vertex.check(cli.VERTEX.value, run_dir)
  # The volume of a Kubernetes cluster is not to be seen from here.
  if cli.DRY_RUN.value or place.backend == 'kubernetes':
    return submitting.submit(run, run_dir, place)
  with stops.undoing(lambda: run_dir_lib.give_back(run_dir)):
    make_run_dir(run, run_dir)
    try:
      return launch(run, run_dir, place)
    finally:
      run_dir_lib.give_back(run_dir)


def checked(
  launch_type: str,
) -> tuple[settings_lib.Settings, launching.Place]:
  """Returns what is to run, and where.

  Raises:
    settings_lib.WrongUsage: something is wrong that can be told by now.
  """
  if cli.VIDEO.value:
    raise settings_lib.WrongUsage('--video: --evaluate makes it; add that')
  run = settings()
  run.check()
  commands.check_sinks(cli.METRICS.value)
  place = launching.Place(
    cli.BACKEND.value,
    launch_type,
    cli.RESOURCES.value,
    cli.SLURM.value,
    cli.KUBERNETES.value,
    cli.DRY_RUN.value,
    cli.RAY_ADDRESS.value,
    cli.REFUSE_OPEN_PORTS.value,
  )
  place.check()
  return run, place


def run_seeds(launch_type: str) -> int:
  """Runs what the flags describe for each of `--seeds`; returns the exit code.

  Raises:
    settings_lib.WrongUsage: there is no such program, or no such seeds.
  """
  from cli import seeds

  chosen = seeds.parse(cli.SEEDS.value)
  checked(launch_type)
  if cli.BACKEND.value != 'local' or launch_type == 'vertex_ai':
    raise settings_lib.WrongUsage(
      '--seeds: submit the run of each seed by itself, with --seed'
    )
  if cli.RESUME.value:
    raise settings_lib.WrongUsage(
      '--resume with --seeds: resume the run of each seed by itself'
    )
  directory = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  return seeds.run(chosen, sys.argv[1:], cli.NUM_ACTORS.value, directory)


def launch(
  run: settings_lib.Settings, run_dir: pathlib.Path, place: launching.Place
) -> int:
  """Has the run begin where it is to be; returns the exit code."""
  watch = launching.Watch(
    cli.STUCK_AFTER.value, cli.QUIET.value, cli.METRICS.value
  )
  if place.launch_type == 'vertex_ai':
    given = place.resources_by_role()
    return vertex.submit(run, run_dir, given, cli.VERTEX.value)
  if place.launch_type != 'local':
    return launching.run_stock(run, run_dir, place.launch_type, watch)
  if place.backend == 'slurm' and not script.in_job():
    return submitting.submit(run, run_dir, place)
  return launching.run(run, run_dir, place, watch)


def settings() -> settings_lib.Settings:
  """Returns what the flags say of the run.

  Of a run that is resumed, what they leave out is as it was.
  """
  kept = {}
  if cli.RESUME.value and _run_dir():
    # What is wrong with it, `make_run_dir` says.
    with contextlib.suppress(OSError, damage.DamagedError):
      kept = run_dir_lib.read_config(pathlib.Path(_run_dir()))
  values = {
    name: kept[name]
    if name in kept and not flags.FLAGS[name].present
    else flags.FLAGS[name].value
    for name in settings_lib.NAMES
  }
  return settings_lib.make_settings(values)


def make_run_dir(run: settings_lib.Settings, run_dir: pathlib.Path) -> None:
  """Makes the run directory, or checks the one to go on with.

  Raises:
    settings_lib.WrongUsage: it cannot be made, or is another run's.
    DamagedError: what is to go on is damaged.
  """
  if cli.RESUME.value and not _run_dir():
    raise settings_lib.WrongUsage('--resume: say which run with --run_dir')
  in_pod = manifests.in_launcher()
  # A pod has the same command at its first start and at each later one.
  begins = in_pod and not run_dir_lib.holds_run(run_dir)
  try:
    if cli.RESUME.value and not begins:
      run_dir_lib.check_resume(run_dir, dataclasses.asdict(run))
      launching.check_not_running(run_dir)
      resuming.check(run_dir)
    else:
      run_dir_lib.create(run_dir)
    # Kubernetes has one such pod at a time, and a volume may know the lock of
    # one whose node was lost for longer than that.
    if not in_pod and (cli.BACKEND.value != 'slurm' or script.in_job()):
      run_dir_lib.take(run_dir)
  except (OSError, ValueError) as e:
    raise settings_lib.WrongUsage(f'--run_dir: {e}') from e


def refuse(sentence: str, exit_code: int = _WRONG_USAGE) -> int:
  """Says what is wrong, with the command line if not else; returns the code."""
  screen.show(f'launch.py: {sentence}', file=sys.stderr)
  return exit_code


def _is_about_storage(error: OSError) -> bool:
  """Whether a disk is full, or it is a file of the run directory's."""
  if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
    return True
  run_dir, path = _run_dir(), error.filename
  return (
    bool(run_dir)
    and isinstance(path, str)
    and (os.path.abspath(path).startswith(os.path.abspath(run_dir)))
  )


def parse_flags(argv: list[str]) -> list[str]:
  """As absl parses, but a wrong flag is one sentence and exit code 2."""
  try:
    # Ahead of the user's own, which win.
    return flags.FLAGS([argv[0], '--verbosity=-1', *argv[1:]])
  except flags.Error as e:
    sys.exit(refuse(str(e)))


def _run_dir() -> str | None:
  return cli.RUN_DIR.value[-1] if cli.RUN_DIR.value else None


def _default_run_dir() -> pathlib.Path:
  agent = cli.AGENT.value.removeprefix('module:')
  environment = re.sub('[/:]', '-', cli.ENV.value.partition(':')[2])
  return run_dir_lib.default_path(f'{agent}-{environment}')


if __name__ == '__main__':
  try:
    app.run(main, flags_parser=parse_flags)
  except SystemExit as e:
    stops.leave(stops.exit_code(e))
