"""The arguments that name a run, and the search for the run's backend."""

import argparse
import pathlib

from backends import api, registry


def add_run_dir(parser: argparse.ArgumentParser) -> None:
  """Adds the argument that names a verb's run."""
  parser.add_argument(
    'run_dir', metavar='RUN_DIR', help='the directory of the run'
  )


def add_backend(parser: argparse.ArgumentParser) -> None:
  """Adds the flags that find a run whose directory this machine lacks."""
  group = parser.add_argument_group(
    'a run whose directory is on a volume of its cluster'
  )
  group.add_argument(
    '--backend',
    choices=registry.names(),
    default=registry.DEFAULT,
    help='where the run is; only such a run needs this flag',
  )
  for flag in registry.flags_of_volumes():
    group.add_argument(
      f'--{flag.name}',
      default=flag.default,
      metavar='OPTIONS',
      help='the value that the run was submitted with, or the part of it that '
      'says where the cluster is',
    )


def choice(arguments: argparse.Namespace) -> registry.Choice:
  """Returns where the run is, as the flags of `add_backend` say."""
  own_flags = {
    flag.name: getattr(arguments, flag.name)
    for flag in registry.flags_of_volumes()
  }
  return registry.Choice(arguments.backend, own_flags=own_flags)


def find(
  run_dir: pathlib.Path, where: registry.Choice
) -> tuple[api.Backend, str]:
  """Returns the backend that runs a run, and the run's state there.

  Args:
    run_dir: the run directory's absolute path.
    where: where the run is, as the flags say.

  Returns:
    The backend, and a text such as `job 12: RUNNING`.

  Raises:
    api.RefusedError: no backend runs it, or a backend cannot tell.
  """
  for backend in registry.candidates(where):
    state = backend.state(run_dir)
    if state is not None:
      return backend, state
  raise api.RefusedError(f'no run goes on in {run_dir}')
