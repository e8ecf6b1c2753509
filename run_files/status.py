"""The state of a run in a file, for other processes to read."""

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from run_files import damage, patience, whole_files

_FILE = 'status.json'
# It is written every second, and shared storage shows that with some delay.
_FRESH_SECS = 30.0
_TEXT_OR_NONE, _INT_OR_NONE = (str, type(None)), (int, type(None))
_OF_LAUNCHER = {
  'pid': _INT_OR_NONE,
  'process_start': _TEXT_OR_NONE,
  'host': str,
  'state': str,
  'exit_code': _INT_OR_NONE,
}
_OF_TASK = {
  'label': str,
  'index': int,
  'pid': _INT_OR_NONE,
  'state': str,
  'started': (int, float, type(None)),
  'restarts': int,
  'exit_code': _INT_OR_NONE,
  'addresses': list,
}


class _Text(str, enum.Enum):
  """A name that is written, read and shown as its text."""

  __str__ = str.__str__


class RunState(_Text):
  """What a run's launcher does."""

  STARTING = 'starting'
  RUNNING = 'running'
  STOPPING = 'stopping'
  ENDED = 'ended'


class TaskState(_Text):
  """What a task does.

  `backends.supervision` decides when a task goes from one state to another.
  """

  # Not started yet.
  WAITING = 'waiting'
  # Its process imports what it needs.
  STARTING = 'starting'
  RUNNING = 'running'
  # Its process ended, and is about to be started again.
  BACKOFF = 'backoff'
  # Its machine is lost, and another is waited for.
  LOST = 'lost'
  # Its process stops, and is then started again.
  RENEWING = 'renewing'
  # Its process stops because the run is to have fewer of this role.
  LEAVING = 'leaving'
  # Its process stops because the run does.
  STOPPING = 'stopping'
  # These four are for good.
  FINISHED = 'finished'
  FAILED = 'failed'
  STOPPED = 'stopped'
  KILLED = 'killed'


def write(directory: str, state: dict[str, Any]) -> None:
  """Replaces the file at once: no reader ever sees half of it.

  Args:
    directory: the run's log folder.
    state: `launcher`, as of that function, and `tasks`, a list of dicts with
      `label`, `index`, `pid`, `state`, `started`, `restarts`, `exit_code` and
      `addresses`.
  """
  text = json.dumps({**state, 'written': time.time()}, indent=1)
  # The next comes in a second.
  whole_files.write(os.path.join(directory, _FILE), text, durable=False)


class Writer:
  """Writes the state of a run, whenever that works."""

  def __init__(self, directory: str | None, say: Callable[[str], None]):
    """Writes to a run's log folder, or nowhere.

    Args:
      directory: the folder.
      say: takes a line when it does not work, and when it does again.
    """
    self._directory = directory
    # As with a task's log, a full disk must not end a run that goes on.
    self._patience = patience.Patience(
      'the status of the run', 'it is tried again every second', say
    )

  def write(
    self, launcher: dict[str, Any], tasks: Sequence[dict[str, Any]]
  ) -> None:
    """Writes it, if that works now."""
    if self._directory is not None:
      with self._patience.attempt():
        write(self._directory, {'launcher': launcher, 'tasks': tasks})


def read(directory: str) -> dict[str, Any]:
  """Returns what `write` wrote last, and for how long each task runs.

  Args:
    directory: the run's log folder.

  Returns:
    The state. Each task also has `uptime`, in seconds, None unless it runs;
    `launcher` also has `alive`, whether its process is there. If that is on
    another host, then whether it wrote lately.

  Raises:
    FileNotFoundError: no run has written its state there.
    DamagedError: the file is damaged.
  """
  path = os.path.join(directory, _FILE)
  try:
    state = damage.read_json(path)
    _check(state)
  except FileNotFoundError:
    raise FileNotFoundError(
      f'{path} is not there: no run has kept its logs in {directory}.'
    ) from None
  except ValueError as e:
    raise damage.DamagedError(f'{path} is damaged: {e}') from e
  alive = _alive(state['launcher'], state.get('written', 0.0))
  state['launcher']['alive'] = alive
  for task in state['tasks']:
    runs = alive and task['state'] in ('running', 'stopping')
    began = task['started']
    task['uptime'] = time.time() - began if runs and began is not None else None
  return state


def launcher(state: str, exit_code: int | None) -> dict[str, Any]:
  """Returns what tells of this process as a run's launcher.

  Args:
    state: `starting`, `running`, `stopping` or `ended`.
    exit_code: of the run, if it has ended.
  """
  pid = os.getpid()
  return {
    'pid': pid,
    'process_start': process_start(pid),
    'host': socket.gethostname(),
    'state': state,
    'exit_code': exit_code,
  }


def living(directory: str) -> dict[str, Any] | None:
  """Returns the launcher of a run that goes on, else None.

  Args:
    directory: the run's log folder.

  Raises:
    DamagedError: the file is damaged.
  """
  try:
    found = read(directory)['launcher']
  except FileNotFoundError:
    return None
  return found if found['alive'] else None


def is_there(launcher: dict[str, Any]) -> bool:
  """Whether a launcher of this host has not exited; it may be `ended`."""
  start = process_start(launcher['pid'])
  return start is not None and start == launcher['process_start']


def process_start(pid: int) -> str | None:
  """When a process began, in the kernel's ticks; None if it is not there.

  One that has exited is not, also while its parent has not taken note of that.
  With the pid it names a process for good: pids are used again.
  """
  try:
    with open(f'/proc/{pid}/stat') as f:
      state, *fields = f.read().rpartition(')')[2].split()
  except OSError:
    return None
  return None if state in ('Z', 'X') else fields[18]


def _alive(launcher: dict[str, Any], written: float) -> bool:
  if launcher['state'] == 'ended':
    return False
  if launcher['host'] != socket.gethostname():
    return time.time() - written < _FRESH_SECS
  return is_there(launcher)


def _check(state: Any) -> None:
  """Raises `ValueError` unless it is a state as `write` takes it."""
  if not isinstance(state, dict) or not isinstance(state.get('tasks'), list):
    raise ValueError('it has no list of tasks')
  if not isinstance(state.get('written', 0.0), int | float):
    raise ValueError('it was written at no time')
  _check_fields('its launcher', state.get('launcher'), _OF_LAUNCHER)
  for task in state['tasks']:
    _check_fields('one of its tasks', task, _OF_TASK)
    if not all(isinstance(address, str) for address in task['addresses']):
      raise ValueError('an address of one of its tasks is none')


def _check_fields(what: str, value: Any, types: Mapping[str, Any]) -> None:
  has = value if isinstance(value, dict) else {}
  if lacking := [name for name in types if name not in has]:
    raise ValueError(f'{what} has no {", ".join(lacking)}')
  for name, kind in types.items():
    if not isinstance(has[name], kind):
      raise ValueError(f'{what} has the {name} {has[name]!r}')
