"""Stops a run, wherever it runs, as Ctrl-C does; returns when it has ended."""

import argparse
import pathlib
import sys

from backends import api, registry
from cli import finding
from run_files import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
  finding.add_run_dir(parser)
  finding.add_backend(parser)


def run(arguments: argparse.Namespace) -> int:
  run_dir = pathlib.Path(arguments.run_dir).absolute()
  return stop(run_dir, finding.choice(arguments))


def stop(run_dir: pathlib.Path, where: registry.Choice) -> int:
  """Stops a run, and returns when it has ended.

  Args:
    run_dir: the run directory's absolute path.
    where: where the run is, as the flags say.

  Returns:
    The exit code.

  Raises:
    api.RefusedError: no run goes on there, or it cannot be reached from here.
  """
  backend, state = finding.find(run_dir, where)
  screen.show(f'{state}; stopping it')
  try:
    backend.stop(run_dir)
  except api.BackendError as e:
    screen.show(f'launch.py: {e}', file=sys.stderr)
    return 1
  screen.show('stopped')
  return 0
