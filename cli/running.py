"""What one asks of a run that goes on: its status, a stop, another size."""

import pathlib
import sys

from backends import api, launcher_process, registry
from cli.settings import WrongUsage
from run_files import screen


def show_status(run_dir: str | None, choice: registry.Choice) -> int:
  """Prints what a run does.

  Args:
    run_dir: the value of `--run_dir`.
    choice: where the run's processes are; by default, wherever it is found.

  Returns:
    The exit code.

  Raises:
    WrongUsage: there is no run.
  """
  from watchdog import status_page

  path = _path(run_dir, 'status')
  is_told = False
  for backend in registry.candidates(choice):
    try:
      text = backend.status(path)
    except api.RefusedError as e:
      if backend.RUN_DIR_IS_ON_VOLUME:
        raise WrongUsage(f'--status: {e}') from e
      # The run's own files tell the rest, wherever they are read.
      screen.show(f'launch.py: {str(e).splitlines()[0]}', file=sys.stderr)
      continue
    if text is not None:
      screen.show(text)
      is_told = True
    if backend.RUN_DIR_IS_ON_VOLUME:
      return 0
  if launcher_process.is_beginning(path):
    screen.show(f'{run_dir}: starting; it has no processes yet')
    return 0
  try:
    screen.show(status_page.page(run_dir))
  except FileNotFoundError as e:
    # A job that waits has not begun to keep its status.
    if not is_told:
      raise WrongUsage(f'--run_dir: {e}') from e
  return 0


def stop(run_dir: str | None, choice: registry.Choice) -> int:
  """Stops a run, and returns when it has ended.

  Args:
    run_dir: the value of `--run_dir`.
    choice: where the run's processes are; by default, wherever it is found.

  Returns:
    The exit code.

  Raises:
    WrongUsage: no run goes on there, or it cannot be reached from here.
  """
  path = _path(run_dir, 'stop')
  try:
    backend, state = _find(path, choice)
    screen.show(f'{state}; it is stopped')
    backend.stop(path)
  except api.RefusedError as e:
    raise WrongUsage(f'--stop: {e}') from e
  except api.BackendError as e:
    screen.show(f'launch.py: {e}', file=sys.stderr)
    return 1
  screen.show('stopped')
  return 0


def scale(run_dir: str | None, text: str, choice: registry.Choice) -> int:
  """Has a run go on with another number of actors; returns when it does.

  Args:
    run_dir: the value of `--run_dir`.
    text: the role and the number, such as `actor:8`.
    choice: where the run's processes are; by default, wherever it is found.

  Returns:
    The exit code.

  Raises:
    WrongUsage: no run goes on there, or it cannot have that number.
  """
  role, _, number = text.partition(':')
  if role != 'actor' or not number.isdecimal() or not int(number):
    raise WrongUsage(
      f'--scale: only actors can be more or fewer, at least one, as in '
      f'actor:8; got {text!r}'
    )
  path = _path(run_dir, 'scale')
  try:
    backend, _ = _find(path, choice)
    backend.scale(path, role, int(number))
  except api.RefusedError as e:
    raise WrongUsage(f'--scale: {e}') from e
  except api.BackendError as e:
    screen.show(f'launch.py: --scale: {e}', file=sys.stderr)
    return 1
  screen.show(f'{"actors":<15}{number}')
  return 0


def _find(
  run_dir: pathlib.Path, choice: registry.Choice
) -> tuple[api.Backend, str]:
  """Returns the backend that has a run, and what the run is to it.

  Raises:
    RefusedError: no backend has it, or one cannot tell.
  """
  for backend in registry.candidates(choice):
    state = backend.state(run_dir)
    if state is not None:
      return backend, state
  raise api.RefusedError(f'no run goes on in {run_dir}')


def _path(run_dir: str | None, flag: str) -> pathlib.Path:
  if not run_dir:
    raise WrongUsage(f'--{flag}: say which run with --run_dir')
  return pathlib.Path(run_dir).absolute()
