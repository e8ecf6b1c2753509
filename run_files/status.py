"""The status of a run: a file that its launcher writes and others read.

`logs/status.json` of a run directory says what the launcher and each task do.
The launcher writes it every second.
"""

import dataclasses
import enum
import json
import os
import socket
import time
import typing
from collections.abc import Callable, Sequence
from typing import Any

from run_files import damage, patience, whole_files

_FILE = 'status.json'
# A launcher on another host is taken for dead if its file is older than this.
# It writes every second, and shared storage shows that with some delay.
_FRESH_SECS = 30.0
# The type of a field in JSON, where that differs from its type here.
_IN_JSON = {'state': str, 'addresses': list}


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
  # Its machine is lost, and it waits for another.
  LOST = 'lost'
  # Its process stops, and is then started again.
  RENEWING = 'renewing'
  # Its process stops because the run is to have fewer of this role.
  LEAVING = 'leaving'
  # Its process stops because the run does.
  STOPPING = 'stopping'
  # A task stays in each of these four.
  FINISHED = 'finished'
  FAILED = 'failed'
  STOPPED = 'stopped'
  KILLED = 'killed'


@dataclasses.dataclass(frozen=True)
class Launcher:
  """The process that supervises the tasks of a run.

  Attributes:
    pid: the pid of its process; None if it is unknown.
    process_start: when that process began, as `process_start` returns it.
    host: the name of its machine.
    state: what it does.
    exit_code: the run's exit code, once the run has ended.
  """

  pid: int | None
  process_start: str | None
  host: str
  state: RunState
  exit_code: int | None

  def is_there(self) -> bool:
    """Whether its process runs on this machine; its run may have ended."""
    if self.pid is None:
      return False
    start = process_start(self.pid)
    return start is not None and start == self.process_start


@dataclasses.dataclass(frozen=True)
class Task:
  """One task of a run: a node of its program, in a process of its own.

  Attributes:
    label: its role, such as `actor`.
    index: its number among the tasks of that role, from 0.
    pid: the pid of its process, or of its last one; None before the first.
    state: what it does.
    started: the Unix time at which that process began.
    restarts: how often it was started again.
    exit_code: the exit code of its last process that ended; None before.
    addresses: where its servers listen, `host:port` each.
  """

  label: str
  index: int
  pid: int | None
  state: TaskState
  started: int | float | None
  restarts: int
  exit_code: int | None
  addresses: Sequence[str]

  @property
  def name(self) -> str:
    """Its label and index, as in `actor/0`."""
    return f'{self.label}/{self.index}'


@dataclasses.dataclass(frozen=True)
class RunStatus:
  """What a status file says.

  Attributes:
    launcher: the run's launcher.
    tasks: the run's tasks.
    alive: whether the launcher's process runs. If it is on another host,
      whether it has written the file in the last 30 seconds.
  """

  launcher: Launcher
  tasks: Sequence[Task]
  alive: bool

  def uptime(self, task: Task) -> float | None:
    """Returns for how many seconds a task has run; None if it does not."""
    runs = task.state in (TaskState.RUNNING, TaskState.STOPPING)
    if not (self.alive and runs) or task.started is None:
      return None
    return time.time() - task.started


def this_launcher(state: RunState, exit_code: int | None = None) -> Launcher:
  """Returns the description of this process as a run's launcher.

  Args:
    state: what it does.
    exit_code: the run's exit code, if the run has ended.
  """
  pid = os.getpid()
  return Launcher(
    pid, process_start(pid), socket.gethostname(), state, exit_code
  )


def write(log_dir: str, launcher: Launcher, tasks: Sequence[Task]) -> None:
  """Writes the status file in one step, so that no reader sees half of it.

  Args:
    log_dir: the run's log folder.
    launcher: the run's launcher.
    tasks: the run's tasks.

  Raises:
    OSError: the file cannot be written.
  """
  state = {
    'launcher': dataclasses.asdict(launcher),
    'tasks': [dataclasses.asdict(task) for task in tasks],
    'written': time.time(),
  }
  path = os.path.join(log_dir, _FILE)
  # Not durable, since the next one is written in a second.
  whole_files.write(path, json.dumps(state, indent=1), durable=False)


class Writer:
  """Writes a run's status, and lets attempts fail.

  So a full disk does not end the run.
  """

  def __init__(self, log_dir: str | None, print_fn: Callable[[str], None]):
    """Writes nothing yet.

    Args:
      log_dir: the run's log folder; None writes nowhere.
      print_fn: prints a line when writing fails, and when it works again.
    """
    self._log_dir = log_dir
    self._patience = patience.Patience(
      'the status of the run', 'it is tried again every second', print_fn
    )

  def write(self, launcher: Launcher, tasks: Sequence[Task]) -> None:
    """Writes the file if that works now."""
    if self._log_dir is not None:
      with self._patience.attempt():
        write(self._log_dir, launcher, tasks)


def read(log_dir: str) -> RunStatus:
  """Returns what `write` wrote last.

  Args:
    log_dir: the run's log folder.

  Raises:
    FileNotFoundError: no run has written its status there.
    DamagedError: the file is damaged.
  """
  path = os.path.join(log_dir, _FILE)
  try:
    return _parse(damage.read_json(path))
  except FileNotFoundError:
    raise FileNotFoundError(
      f'{path} does not exist: no run has written its logs to {log_dir}.'
    ) from None
  except ValueError as e:
    raise damage.DamagedError(f'{path} is damaged: {e}') from e


def living(log_dir: str) -> Launcher | None:
  """Returns the launcher of a run that goes on; None if none does.

  Args:
    log_dir: the run's log folder.

  Raises:
    DamagedError: the file is damaged.
  """
  try:
    found = read(log_dir)
  except FileNotFoundError:
    return None
  return found.launcher if found.alive else None


def process_start(pid: int) -> str | None:
  """Returns when a process began, in the kernel's ticks; None if none runs.

  A process that has exited does not run, even if its parent has not waited for
  it yet. Linux reuses pids; a pid together with the start is unique.
  """
  try:
    with open(f'/proc/{pid}/stat') as f:
      state, *fields = f.read().rpartition(')')[2].split()
  except OSError:
    return None
  return None if state in ('Z', 'X') else fields[18]


def _parse(state: Any) -> RunStatus:
  """Returns what the file's JSON says.

  Raises:
    ValueError: it is not as `write` writes it.
  """
  if not isinstance(state, dict) or not isinstance(state.get('tasks'), list):
    raise ValueError('it has no list of tasks')
  written = state.get('written', 0.0)
  if not isinstance(written, int | float):
    raise ValueError('its time of writing is not a number')
  fields = _checked('its launcher', state.get('launcher'), Launcher)
  launcher = Launcher(**{**fields, 'state': RunState(fields['state'])})
  tasks = tuple(map(_parse_task, state['tasks']))
  return RunStatus(launcher, tasks, _is_alive(launcher, written))


def _parse_task(value: Any) -> Task:
  fields = _checked('one of its tasks', value, Task)
  if not all(isinstance(address, str) for address in fields['addresses']):
    raise ValueError('an address of one of its tasks is not text')
  return Task(**{**fields, 'state': TaskState(fields['state'])})


def _checked(what: str, value: Any, kind: type) -> dict[str, Any]:
  """Returns a dataclass's fields from JSON; `ValueError` if one is wrong."""
  has = value if isinstance(value, dict) else {}
  types = typing.get_type_hints(kind)
  if lacking := [name for name in types if name not in has]:
    raise ValueError(f'{what} has no {", ".join(lacking)}')
  for name, type_of_field in types.items():
    if not isinstance(has[name], _IN_JSON.get(name, type_of_field)):
      raise ValueError(f'{what} has the {name} {has[name]!r}')
  return {name: has[name] for name in types}


def _is_alive(launcher: Launcher, written: float) -> bool:
  if launcher.state == RunState.ENDED:
    return False
  if launcher.host != socket.gethostname():
    return time.time() - written < _FRESH_SECS
  return launcher.is_there()
