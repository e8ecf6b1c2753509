"""More or fewer tasks of a role while a run goes on.

Whoever asks leaves a file beside the run's status, on whatever storage that is;
the launcher takes it up and the status shows what came of it.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import launchpad as lp

if TYPE_CHECKING:
  from backends import roster, supervisor

# Called with a role and a number; returns the program with so many tasks of it.
Resize = Callable[[str, int], lp.Program]
_REQUEST, _ANSWER = 'scale.json', 'scaled.json'


def request(log_dir: str, label: str, count: int) -> None:
  """Asks the launcher of a run for so many tasks of a role.

  Args:
    log_dir: of the run.
    label: the role.
    count: how many.

  Raises:
    OSError: the file cannot be written.
  """
  with contextlib.suppress(FileNotFoundError):
    os.remove(os.path.join(log_dir, _ANSWER))
  _write(log_dir, _REQUEST, {'label': label, 'count': count})


def answer(log_dir: str) -> str | None:
  """Returns what came of it: None as yet, empty if it is done, or the fault."""
  found = _read(log_dir, _ANSWER)
  return None if found is None else found['error']


def _write(log_dir: str, name: str, content: dict[str, Any]) -> None:
  path = os.path.join(log_dir, name)
  with open(f'{path}.new', 'w') as f:
    json.dump(content, f)
  os.replace(f'{path}.new', path)


def _read(log_dir: str, name: str) -> dict[str, Any] | None:
  try:
    with open(os.path.join(log_dir, name)) as f:
      return json.load(f)
  except FileNotFoundError:
    return None


def _answer(log_dir: str, error: str) -> None:
  # Whoever asked hears nothing then; a full disk must not end the run.
  with contextlib.suppress(OSError):
    _write(log_dir, _ANSWER, {'error': error})


def _take(log_dir: str) -> dict[str, Any] | None:
  """Returns what is asked for, if anything is; it is asked for once.

  Raises:
    ValueError: the file is none that `request` writes.
  """
  try:
    found = _read(log_dir, _REQUEST)
  finally:
    with contextlib.suppress(FileNotFoundError):
      os.remove(os.path.join(log_dir, _REQUEST))
  if found is None:
    return None
  is_right = isinstance(found, dict) and isinstance(found.get('label'), str)
  if not is_right or type(found.get('count')) is not int or found['count'] < 1:
    raise ValueError(f'no such request: {found}')
  return found


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
    self._thread: threading.Thread | None = None
    self._program: lp.Program | None = None
    self._error: Exception | None = None
    with contextlib.suppress(OSError, ValueError):
      _take(log_dir)

  def look(self, boss: 'supervisor.Supervisor', tasks: 'roster.Roster') -> None:
    """Does what was asked since, a step at a time; called every second."""
    is_busy = boss.is_leaving or (self._thread and self._thread.is_alive())
    if boss.is_stopping or is_busy:
      return
    if self._thread is not None:
      self._thread = None
      self._finish(boss, tasks)
      return
    try:
      asked = _take(self._log_dir)
    except (OSError, ValueError) as e:
      boss.note(f'A request for more or fewer tasks is left out: {e}')
      _answer(self._log_dir, str(e))
      return
    if asked is None:
      return
    label, count = asked['label'], asked['count']
    if self._resize is None:
      _answer(self._log_dir, 'the number of its tasks is fixed')
      return
    there = boss.names(label)
    boss.note(f'{label}: {len(there)} -> {count}.')
    fresh = [f'{label}/{i}' for i in range(len(there), count)]
    for name in there[count:]:
      boss.dismiss(name)
    self._thread = threading.Thread(
      target=self._prepare, args=[label, count, fresh], daemon=True
    )
    self._thread.start()

  def _prepare(self, label: str, count: int, fresh: Sequence[str]) -> None:
    """Makes program and room, which takes long, beside the supervision."""
    try:
      if fresh:
        self._make_room(fresh)
      # After that: it may keep the number for a resume.
      self._program = self._resize(label, count)
    except Exception as e:
      self._error = e

  def _finish(
    self, boss: 'supervisor.Supervisor', tasks: 'roster.Roster'
  ) -> None:
    error, self._error = self._error, None
    try:
      if error is not None:
        raise error
      for run in tasks.enlist(self._program):
        boss.add(run)
      answer = ''
    except Exception as e:  # Those that there are go on.
      answer = f'{type(e).__name__}: {e}'
      boss.note(f'No more tasks are started: {answer}')
    _answer(self._log_dir, answer)
