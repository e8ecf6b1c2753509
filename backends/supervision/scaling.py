"""More or fewer tasks of a role while a run goes on.

Whoever asks leaves a file beside the run's status, on whatever storage that is;
the launcher takes up one after the other and leaves an answer for each.
"""

import contextlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from run_files import whole_files

if TYPE_CHECKING:
  import launchpad as lp

  from backends.supervision import run_tasks, supervisor

# Called with a role and a number; returns the program with so many tasks of it.
Resize = Callable[[str, int], 'lp.Program']
# Until new tasks run: their nodes import what they need first.
SETTLE_SECS = 240.0
_REQUEST, _ANSWER = 'scale-{}.json', 'scaled-{}.json'
_ANY = re.compile(r'scaled?-.+\.json')
_ANY_REQUEST = re.compile(r'scale-(.+)\.json')


def request(log_dir: str, label: str, count: int) -> str:
  """Asks the launcher of a run for so many tasks of a role.

  Args:
    log_dir: of the run.
    label: the role.
    count: how many.

  Returns:
    What `answer` and `withdraw` know this request by.

  Raises:
    OSError: the file cannot be written.
  """
  # The earlier of two comes first by name as well.
  key = f'{time.time_ns():020}-{secrets.token_hex(4)}'
  _write(log_dir, _REQUEST.format(key), {'label': label, 'count': count})
  return key


def answer(log_dir: str, key: str) -> str | None:
  """Returns what came of it: None as yet, empty if it is done, or the fault."""
  found = _read(log_dir, _ANSWER.format(key))
  return None if found is None else found['error']


def withdraw(log_dir: str, key: str) -> None:
  """Leaves nothing of a request; what was begun is done all the same."""
  for name in (_REQUEST, _ANSWER):
    with contextlib.suppress(OSError):
      os.remove(os.path.join(log_dir, name.format(key)))


def _write(log_dir: str, name: str, content: dict[str, Any]) -> None:
  whole_files.write(
    os.path.join(log_dir, name), json.dumps(content), durable=False
  )


def _read(log_dir: str, name: str) -> Any:
  try:
    with open(os.path.join(log_dir, name)) as f:
      return json.load(f)
  except FileNotFoundError:
    return None


def _take(log_dir: str, key: str) -> tuple[str, int] | None:
  """Returns the role and the number of a request; it is asked for once.

  Raises:
    ValueError: the file is none that `request` writes.
  """
  try:
    found = _read(log_dir, _REQUEST.format(key))
  finally:
    with contextlib.suppress(OSError):
      os.remove(os.path.join(log_dir, _REQUEST.format(key)))
  if found is None:
    return None
  is_right = isinstance(found, dict) and isinstance(found.get('label'), str)
  if not is_right or type(found.get('count')) is not int or found['count'] < 1:
    raise ValueError(f'no such request: {found}')
  return found['label'], found['count']


class _Change(NamedTuple):
  """A change that is under way.

  Attributes:
    key: of the request.
    fresh: the names of the tasks that it adds.
    thread: makes program and room, which takes long, beside the supervision.
  """

  key: str
  fresh: Sequence[str]
  thread: threading.Thread


class Scaler:
  """The launcher's part: brings the tasks of a role to a number."""

  def __init__(
    self,
    log_dir: str,
    resize: Resize | None,
    make_room: Callable[[Sequence[str]], None],
  ):
    """Forgets what was asked of an earlier launcher.

    Args:
      log_dir: of the run.
      resize: makes the program with another number of tasks; None if there can
        be no other.
      make_room: as of `machines.Machines`.
    """
    self._log_dir = log_dir
    self._resize = resize
    self._make_room = make_room
    self._seen: set[str] = set()
    self._change: _Change | None = None
    self._settle_by: float | None = None
    self._program: lp.Program | None = None
    self._error: Exception | None = None
    for name in filter(_ANY.fullmatch, os.listdir(log_dir)):
      with contextlib.suppress(OSError):
        os.remove(os.path.join(log_dir, name))

  def look(
    self, boss: 'supervisor.Supervisor', tasks: 'run_tasks.RunTasks'
  ) -> None:
    """Does what was asked since, a step at a time; called every second."""
    change = self._change
    if change is None and not boss.is_stopping:
      self._begin(boss)
    elif change is not None and boss.is_stopping:
      self._answer('the run stops')
    elif change is None or _is_leaving(boss) or change.thread.is_alive():
      return
    elif self._settle_by is None:
      self._add(boss, tasks)
    else:
      self._settle(boss)

  def _begin(self, boss: 'supervisor.Supervisor') -> None:
    """Takes up the next request, if there is one."""
    key = self._next()
    if key is None:
      return
    self._seen.add(key)
    try:
      asked = _take(self._log_dir, key)
    except (OSError, ValueError) as e:
      boss.note(f'A request for more or fewer tasks is left out: {e}')
      self._say(key, str(e))
      return
    if asked is None:
      return
    if self._resize is None:
      self._say(key, 'the number of its tasks is fixed')
      return
    label, count = asked
    there = _names(boss, label)
    boss.note(f'{label}: {len(there)} -> {count}.')
    fresh = [f'{label}/{i}' for i in range(len(there), count)]
    for name in there[count:]:
      boss.dismiss(name)
    thread = threading.Thread(
      target=self._prepare, args=[label, count, fresh], daemon=True
    )
    self._change = _Change(key, fresh, thread)
    thread.start()

  def _next(self) -> str | None:
    """Returns the oldest request that was not taken up yet."""
    try:
      names = os.listdir(self._log_dir)
    except OSError:
      return None
    found = [match[1] for match in map(_ANY_REQUEST.fullmatch, names) if match]
    return min(filter(lambda key: key not in self._seen, found), default=None)

  def _prepare(self, label: str, count: int, fresh: Sequence[str]) -> None:
    try:
      if fresh:
        self._make_room(fresh)
      # After that: it may keep the number for a resume.
      self._program = self._resize(label, count)
    except Exception as e:
      self._error = e

  def _add(
    self, boss: 'supervisor.Supervisor', tasks: 'run_tasks.RunTasks'
  ) -> None:
    """Starts the tasks for which there is room."""
    error, self._error = self._error, None
    try:
      if error is not None:
        raise error
      for run in tasks.add(self._program):
        boss.add(run)
    except Exception as e:  # Those that there are go on.
      error = f'{type(e).__name__}: {e}'
      boss.note(f'No more tasks are started: {error}')
      self._answer(error)
      return
    self._settle_by = time.monotonic() + SETTLE_SECS

  def _settle(self, boss: 'supervisor.Supervisor') -> None:
    """Answers once the new tasks run."""
    states = {name: boss.runs[name].state for name in self._change.fresh}
    late = [
      f'{name} ({state})'
      for name, state in states.items()
      if state not in ('running', 'finished')
    ]
    if not late:
      self._answer('')
    elif time.monotonic() > self._settle_by:
      self._answer(
        f'not running within {SETTLE_SECS:.0f} s, but still to come: '
        f'{", ".join(late)}'
      )

  def _answer(self, error: str) -> None:
    """Ends the change that is under way."""
    self._say(self._change.key, error)
    self._change = self._settle_by = None

  def _say(self, key: str, error: str) -> None:
    # Whoever asked hears nothing then; a full disk must not end the run.
    with contextlib.suppress(OSError):
      _write(self._log_dir, _ANSWER.format(key), {'error': error})


def _names(boss: 'supervisor.Supervisor', label: str) -> list[str]:
  """The tasks of a label that are, or will be, in the run."""
  return [
    name
    for name, run in boss.runs.items()
    if run.task.label == label and run.state != 'leaving'
  ]


def _is_leaving(boss: 'supervisor.Supervisor') -> bool:
  """Whether a task that is to leave the run still stops."""
  return any(run.state == 'leaving' for run in boss.runs.values())
