"""Trains an agent as one distributed program: flags in, a run directory out.

python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
"""

from system import stops, streams

if __name__ == '__main__':
  stops.begin()
  streams.begin()

import contextlib
import errno
import os
import pathlib
import re
import sys

from tools import check

if __name__ == '__main__':
  check.check()

from absl import app, flags

from backends import api, registry
from cli import command_line as cli
from cli import commands, launching, running, watching
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
  # Launchpad, once imported, defines a flag of this over again.
  choice = where()
  if cli.LIST.value:
    screen.show(listing.text())
    return 0
  try:
    if cli.STATUS.value:
      return running.show_status(_run_dir(), choice)
    if cli.STOP.value:
      return running.stop(_run_dir(), choice)
    if cli.SCALE.value is not None:
      return running.scale(_run_dir(), cli.SCALE.value, choice)
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
      return run_seeds(choice)
    return train(choice)
  except (settings_lib.WrongUsage, api.RefusedError) as e:
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


def train(choice: registry.Choice) -> int:
  """Runs the program that the flags describe; returns the exit code.

  Raises:
    settings_lib.WrongUsage: there is no such program.
  """
  run = checked()
  watch = watching.Watch(
    cli.STUCK_AFTER.value, cli.QUIET.value, cli.METRICS.value
  )
  if cli.RESUME.value and not _run_dir():
    raise settings_lib.WrongUsage('--resume: say which run with --run_dir')
  run_dir = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  return launching.train(run, run_dir, choice, watch, cli.RESUME.value)


def where() -> registry.Choice:
  """Returns what the flags say about where processes run."""
  return registry.Choice(
    cli.BACKEND.value,
    cli.LAUNCH_TYPE.value,
    cli.RESOURCES.value,
    cli.DRY_RUN.value,
    {each.name: each.value for each in cli.OF_BACKENDS},
  )


def checked() -> settings_lib.Settings:
  """Returns what is to run.

  Raises:
    settings_lib.WrongUsage: something is wrong that can be told by now.
  """
  if cli.VIDEO.value:
    raise settings_lib.WrongUsage('--video: --evaluate makes it; add that')
  run = settings()
  run.check()
  commands.check_sinks(cli.METRICS.value)
  return run


def run_seeds(choice: registry.Choice) -> int:
  """Runs what the flags describe for each of `--seeds`; returns the exit code.

  Raises:
    settings_lib.WrongUsage: there is no such program, or no such seeds.
  """
  from cli import seeds

  chosen = seeds.parse(cli.SEEDS.value)
  checked()
  if not registry.make(choice).USES_THIS_MACHINE:
    raise settings_lib.WrongUsage(
      '--seeds: submit the run of each seed by itself, with --seed'
    )
  if cli.RESUME.value:
    raise settings_lib.WrongUsage(
      '--resume with --seeds: resume the run of each seed by itself'
    )
  directory = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  return seeds.run(chosen, sys.argv[1:], cli.NUM_ACTORS.value, directory)


def settings() -> settings_lib.Settings:
  """Returns what the flags say of the run.

  Of a run that is resumed, what they leave out is as it was.
  """
  kept = {}
  if cli.RESUME.value and _run_dir():
    # What is wrong with it, `launching.train` says.
    with contextlib.suppress(OSError, damage.DamagedError):
      kept = run_dir_lib.read_config(pathlib.Path(_run_dir()))
  values = {
    name: kept[name]
    if name in kept and not flags.FLAGS[name].present
    else flags.FLAGS[name].value
    for name in settings_lib.NAMES
  }
  return settings_lib.make_settings(values)


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
