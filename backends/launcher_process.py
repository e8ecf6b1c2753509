"""A run whose launcher is a process: how to find, stop and scale it."""

import contextlib
import os
import pathlib
import signal
import socket
import time

from backends import api, registry
from run_files import run_dir as run_dir_lib
from run_files import scale_requests, status

# Twice `RunConfig.grace`, the seconds that a launcher gives its tasks to stop.
_STOP_SECS = 30.0
_STOP_POLL_SECS = 0.1
# A Ray cluster may take five minutes to find room for new tasks.
_SCALE_SECS = 360.0 + scale_requests.SETTLE_SECS
_SCALE_POLL_SECS = 0.2


class LauncherBackend(api.Backend):
  """A backend whose launcher a person starts as a process of this machine."""

  def state(self, run_dir: pathlib.Path) -> str | None:
    launcher = status.living(_log_dir(run_dir))
    if launcher is not None:
      return f'process {launcher.pid} on {launcher.host}'
    if is_beginning(run_dir):
      raise api.RefusedError(
        f'the run in {run_dir} is only beginning; try again soon'
      )
    return None

  def status(self, run_dir: pathlib.Path) -> str | None:
    del run_dir
    return None  # The run's files tell everything.

  def stop(self, run_dir: pathlib.Path) -> None:
    _stop(run_dir)

  def scale(self, run_dir: pathlib.Path, label: str, count: int) -> None:
    _scale(run_dir, label, count)


def is_beginning(run_dir: pathlib.Path) -> bool:
  """Returns whether a run has just begun, and has no status file yet."""
  try:
    found = status.read(_log_dir(run_dir))
  except FileNotFoundError:
    found = None
  # Once the run is `ended`, its launcher still writes the last files.
  if found and (found.alive or found.launcher.is_there()):
    return False
  return registry.is_in_pod() or run_dir_lib.is_locked(run_dir)


def _stop(run_dir: pathlib.Path) -> None:
  """Asks a run's launcher to stop the run, and waits for the launcher's end.

  Raises:
    BackendError: the launcher has not ended in time.
    RefusedError: the launcher is a process of another machine.
  """
  launcher = status.living(_log_dir(run_dir))
  if launcher is None:
    return
  if launcher.host != socket.gethostname():
    raise api.RefusedError(
      f'the launcher of the run in {run_dir} is on {launcher.host}; type the '
      'command there'
    )
  pid = launcher.pid
  with contextlib.suppress(ProcessLookupError):
    os.kill(pid, signal.SIGTERM)
  deadline = time.monotonic() + _STOP_SECS
  # Once the run is `ended`, its launcher still writes the last files.
  while launcher.is_there():
    if time.monotonic() > deadline:
      raise api.BackendError(
        f'process {pid} has not ended within {_STOP_SECS:.0f} s of SIGTERM'
      )
    time.sleep(_STOP_POLL_SECS)


def _scale(run_dir: pathlib.Path, label: str, count: int) -> None:
  """Changes the number of tasks of a label; returns when that many run.

  Raises:
    BackendError: the run goes on with as many tasks as before.
  """
  log_dir = _log_dir(run_dir)
  key = scale_requests.ask(log_dir, label, count)
  deadline = time.monotonic() + _SCALE_SECS
  try:
    while (answer := scale_requests.answer(log_dir, key)) is None:
      if status.living(log_dir) is None or time.monotonic() > deadline:
        raise api.BackendError(
          'the run did not change its number of tasks; '
          f'{log_dir}/launcher.log may say why'
        )
      time.sleep(_SCALE_POLL_SECS)
  finally:
    scale_requests.withdraw(log_dir, key)
  if answer:
    raise api.BackendError(answer)


def _log_dir(run_dir: pathlib.Path) -> str:
  return str(run_dir / 'logs')
