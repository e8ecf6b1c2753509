"""Stopping a run from elsewhere: `launch.py --stop`."""

import contextlib
import os
import pathlib
import signal
import socket
import sys
import time

from backends.slurm import job
from cli import commands
from cli.settings import WrongUsage
from run_files import screen, status

# Twice the time of grace that the launcher gives its processes.
_SECONDS = 30.0


def stop(run_dir: str | None) -> int:
  """Stops a run, wherever it runs, and returns when it has ended.

  Raises:
    WrongUsage: there is none that goes on, or it cannot be reached from here.
  """
  if not run_dir:
    raise WrongUsage('--stop: say which run with --run_dir')
  path = pathlib.Path(run_dir).absolute()
  number, state = commands.job(path)
  if state is not None:
    screen.show(f'job {number} of Slurm: {state}; it is cancelled')
    try:
      job.cancel(number)
    except (job.SlurmError, TimeoutError) as e:
      screen.show(f'launch.py: {e}', file=sys.stderr)
      return 1
    screen.show('stopped')
    return 0
  launcher = status.living(str(path / 'logs'))
  if launcher is None and commands.begins(path):
    raise WrongUsage(f'--stop: the run in {path} only begins; try again soon')
  if launcher is None:
    raise WrongUsage(f'--stop: no run goes on in {path}')
  if launcher.host != socket.gethostname():
    raise WrongUsage(
      f'--stop: the run in {path} goes on, on {launcher.host}; type this there'
    )
  return _terminate(launcher)


def _terminate(launcher: status.Launcher) -> int:
  """Asks the launcher of a run of this machine to stop, and waits for it."""
  pid = launcher.pid
  with contextlib.suppress(ProcessLookupError):
    os.kill(pid, signal.SIGTERM)
  deadline = time.monotonic() + _SECONDS
  # Once the run is `ended`, its launcher still writes what came of it.
  while launcher.is_there():
    if time.monotonic() > deadline:
      screen.show(
        f'launch.py: process {pid} has not ended within {_SECONDS:.0f} s '
        'of SIGTERM',
        file=sys.stderr,
      )
      return 1
    time.sleep(0.1)
  screen.show('stopped')
  return 0
