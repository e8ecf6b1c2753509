"""Adds or removes tasks of a role while a run goes on.

A user asks for it by a file; `run_files.scale_requests` defines the files of
the requests and of the answers.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import launchpad as lp

from backends.supervision import config
from backends.supervision import supervisor as supervisor_lib
from run_files import scale_requests
from run_files.status import TaskState


class _Change(NamedTuple):
  """A change that is under way.

  Attributes:
    key: the key of the request.
    new: the names of the tasks that it adds.
    thread: makes room for the new tasks, and builds the program that has them.
      This may take long, so it does not run in the supervisor's thread.
  """

  key: str
  new: Sequence[str]
  thread: threading.Thread


class Scaler:
  """Carries out the requests: changes how many tasks a role has."""

  def __init__(
    self,
    log_dir: str,
    resize: config.Resize | None,
    make_room: Callable[[Sequence[str]], None],
  ):
    """Removes requests that were made to an earlier launcher.

    Args:
      log_dir: path of the run's log folder.
      resize: builds the program with another number of tasks; None if the
        number of tasks is fixed.
      make_room: as in `machines.Machines`.
    """
    self._log_dir = log_dir
    self._resize = resize
    self._make_room = make_room
    # Keys of the requests taken so far. The file of a request may still be
    # visible for a while after it was removed.
    self._seen: set[str] = set()
    self._change: _Change | None = None
    self._settle_by: float | None = None
    self._program: lp.Program | None = None
    self._error: Exception | None = None
    scale_requests.clear(log_dir)

  def look(self, supervisor: supervisor_lib.Supervisor) -> None:
    """Does the next step of a change. The supervisor calls it every second."""
    change = self._change
    if change is None and not supervisor.stop.has_begun:
      self._begin(supervisor)
    elif change is not None and supervisor.stop.has_begun:
      self._answer('the run stops')
    elif change is None or _is_leaving(supervisor) or change.thread.is_alive():
      return
    elif self._settle_by is None:
      self._add(supervisor)
    else:
      self._settle(supervisor)

  def _begin(self, supervisor: supervisor_lib.Supervisor) -> None:
    """Begins the oldest request that is new, if there is one."""
    key = scale_requests.oldest(self._log_dir, except_for=self._seen)
    if key is None:
      return
    self._seen.add(key)
    try:
      request = scale_requests.take(self._log_dir, key)
    except (OSError, ValueError) as e:
      supervisor.note(f'A request for more or fewer tasks cannot be read: {e}')
      scale_requests.reply(self._log_dir, key, str(e))
      return
    if request is None:
      return
    if self._resize is None:
      error = 'the number of its tasks is fixed'
      scale_requests.reply(self._log_dir, key, error)
      return
    label, count = request
    names = _names(supervisor, label)
    supervisor.note(f'{label}: {len(names)} -> {count}.')
    new = [f'{label}/{i}' for i in range(len(names), count)]
    for name in names[count:]:
      supervisor.dismiss(name)
    thread = threading.Thread(
      target=self._prepare, args=[label, count, new], daemon=True
    )
    self._change = _Change(key, new, thread)
    thread.start()

  def _prepare(self, label: str, count: int, new: Sequence[str]) -> None:
    try:
      if new:
        self._make_room(new)
      # Last, because it may save the new number for a later resume.
      self._program = self._resize(label, count)
    except Exception as e:
      self._error = e

  def _add(self, supervisor: supervisor_lib.Supervisor) -> None:
    """Starts the new tasks, now that there is room for them."""
    error, self._error = self._error, None
    try:
      if error is not None:
        raise error
      supervisor.add(self._program)
    except Exception as e:  # The tasks that already run go on.
      error = f'{type(e).__name__}: {e}'
      supervisor.note(f'No tasks were added: {error}')
      self._answer(error)
      return
    self._settle_by = time.monotonic() + scale_requests.SETTLE_SECS

  def _settle(self, supervisor: supervisor_lib.Supervisor) -> None:
    """Answers the request once the new tasks run."""
    late = [
      f'{task.name} ({task.state})'
      for task in supervisor.tasks.find(self._change.new)
      if task.state not in (TaskState.RUNNING, TaskState.FINISHED)
    ]
    if not late:
      self._answer('')
    elif time.monotonic() > self._settle_by:
      self._answer(
        f'these tasks do not run after {scale_requests.SETTLE_SECS:.0f} s, but '
        f'may still start: {", ".join(late)}'
      )

  def _answer(self, error: str) -> None:
    """Answers the request; an empty error means success. Ends the change."""
    scale_requests.reply(self._log_dir, self._change.key, error)
    self._change = self._settle_by = None


def _names(supervisor: supervisor_lib.Supervisor, label: str) -> list[str]:
  """Returns the names of a label's tasks, except those that are leaving."""
  return [
    task.name
    for task in supervisor.tasks.all
    if task.label == label and task.state is not TaskState.LEAVING
  ]


def _is_leaving(supervisor: supervisor_lib.Supervisor) -> bool:
  """Returns whether a task that is leaving the run has not ended yet."""
  tasks = supervisor.tasks.all
  return any(task.state is TaskState.LEAVING for task in tasks)
