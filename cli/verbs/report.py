"""Writes a page that compares runs, with figures and tables of all of them."""

import argparse
import sys

from cli.settings import WrongUsage
from reporting import report
from run_files import run_dir as run_dir_lib
from run_files import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
    'run_dir',
    nargs='+',
    metavar='RUN_DIR',
    help='the directories of the runs; one without a run is left out',
  )
  parser.add_argument(
    '--output',
    metavar='FILE',
    help='the HTML file to write; report.html in the first directory if you '
    'name none',
  )


def run(arguments: argparse.Namespace) -> int:
  """Writes the page.

  Raises:
    WrongUsage: none of the directories holds a run, or the page cannot be
      written.
  """
  run_dirs = arguments.run_dir
  # A shell expands runs/* to all files, also to those that are no runs.
  if holding := [path for path in run_dirs if run_dir_lib.holds_run(path)]:
    for run_dir in filter(lambda each: each not in holding, run_dirs):
      screen.show(
        f'launch.py: left out {run_dir}, which holds no run', file=sys.stderr
      )
    run_dirs = holding
  try:
    screen.show(report.write(run_dirs, arguments.output))
  except (OSError, ValueError) as e:
    raise WrongUsage(str(e)) from e
  return 0
