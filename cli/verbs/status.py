"""Shows what a run is doing: its tasks, their rates, and who waits for whom."""

import argparse
import pathlib
import sys

from backends import api, launcher_process, registry
from cli import finding
from cli.settings import WrongUsage
from run_files import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
  finding.add_run_dir(parser)
  finding.add_backend(parser)


def run(arguments: argparse.Namespace) -> int:
  run_dir = pathlib.Path(arguments.run_dir).absolute()
  return show(run_dir, finding.choice(arguments))


def show(run_dir: pathlib.Path, where: registry.Choice) -> int:
  """Prints what a run is doing.

  Args:
    run_dir: the run directory's absolute path.
    where: where the run is, as the flags say.

  Returns:
    The exit code.

  Raises:
    WrongUsage: there is no run in the directory.
    api.RefusedError: a run on a volume cannot be found.
  """
  from watchdog import status_page

  is_told = False
  for backend in registry.candidates(where):
    try:
      text = backend.status(run_dir)
    except api.RefusedError as e:
      if backend.RUN_DIR_IS_ON_VOLUME:
        raise
      # The run's files, which this machine can read, still say a lot.
      screen.show(f'launch.py: {str(e).splitlines()[0]}', file=sys.stderr)
      continue
    if text is not None:
      screen.show(text)
      is_told = True
    if backend.RUN_DIR_IS_ON_VOLUME:
      return 0
  if launcher_process.is_beginning(run_dir):
    screen.show(f'{run_dir}: starting; it has no processes yet')
    return 0
  try:
    screen.show(status_page.page(str(run_dir)))
  except FileNotFoundError as e:
    # A job that waits in the queue has written no status yet.
    if not is_told:
      raise WrongUsage(str(e)) from e
  return 0
