"""Changes the number of actors of a run; returns when the run has that number.

The run goes on meanwhile. It must be on this machine or on a Ray cluster.
"""

import argparse
import pathlib
import sys

from backends import api, registry
from cli import finding
from cli.settings import WrongUsage
from run_files import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
  finding.add_run_dir(parser)
  parser.add_argument(
    'size',
    metavar='ROLE:COUNT',
    help='the role and the new number of its tasks, such as actor:8; only '
    'actors can be scaled',
  )
  finding.add_backend(parser)


def run(arguments: argparse.Namespace) -> int:
  run_dir = pathlib.Path(arguments.run_dir).absolute()
  return scale(run_dir, arguments.size, finding.choice(arguments))


def scale(run_dir: pathlib.Path, size: str, where: registry.Choice) -> int:
  """Changes the number of actors of a run; returns when the run has it.

  Args:
    run_dir: the run directory's absolute path.
    size: the role and the number of its processes, such as `actor:8`.
    where: where the run is, as the flags say.

  Returns:
    The exit code.

  Raises:
    WrongUsage: the run cannot have that size.
    api.RefusedError: no run goes on there, or its size is fixed.
  """
  role, _, number = size.partition(':')
  if role != 'actor' or not number.isdecimal() or not int(number):
    raise WrongUsage(
      'only actors can be scaled, to at least one of them; write actor:8, not '
      f'{size!r}'
    )
  backend, _ = finding.find(run_dir, where)
  try:
    backend.scale(run_dir, role, int(number))
  except api.BackendError as e:
    screen.show(f'launch.py: {e}', file=sys.stderr)
    return 1
  screen.show(f'{"actors":<15}{number}')
  return 0
