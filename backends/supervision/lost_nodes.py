"""What becomes of tasks whose node is lost, and of those that talk to them."""

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from backends.supervision import run_tasks, task_run

if TYPE_CHECKING:
  from backends.supervision import supervisor


class LostNodes:
  """The supervisor's part that knows which tasks have no place."""

  def __init__(self, boss: 'supervisor.Supervisor', tasks: run_tasks.RunTasks):
    self._boss = boss
    self._tasks = tasks

  def on_lost(self, names: Sequence[str], error: str) -> None:
    """Has the tasks of a node that is gone wait for another."""
    self._boss.note(f'{error} Its tasks start again when it has another place.')
    for run in self._runs(names):
      if run.state == 'renewing':
        run.state = 'running'
      if run.alive:
        self._boss.on_exit(run, -signal.SIGKILL, is_lost=True)
      elif run.state in ('backoff', 'waiting'):
        run.state = 'lost'

  def holds_back(self, run: task_run.TaskRun) -> bool:
    """Whether a task that has crashed had best wait, as what it calls is lost.

    It would crash again, and run out of restarts.
    """
    if self._boss.is_stopping or not self._lost_that_it_calls(run.task.name):
      return False
    run.state = 'waiting'
    return True

  def on_placed(self, names: Sequence[str]) -> None:
    """Starts the tasks of a lost node on the one that replaces it.

    Whoever has an address of theirs starts again with the new one.
    """
    others = self._runs(self._tasks.on_moved(names))
    if self._boss.is_stopping:
      return
    told = [run for run in others if run.alive and run.state != 'leaving']
    for run in told:
      self._boss.ask_to_stop(run, 'renewing')
    if told:
      self._boss.note(
        f'{", ".join(names)} moved; with the new address start again: '
        f'{", ".join(run.task.name for run in told)}.'
      )
    for run in self._runs(names):
      if run.state == 'lost':
        run.restarts += run.pid is not None
        self._boss.start(run)
    for run in others:
      held_back = run.state == 'waiting' and self._boss.ready
      if held_back and not self._lost_that_it_calls(run.task.name):
        run.restarts += 1
        self._boss.start(run)

  def _lost_that_it_calls(self, name: str) -> list[str]:
    lost = [n for n, run in self._boss.runs.items() if run.state == 'lost']
    return [each for each in lost if name in self._tasks.told([each])]

  def _runs(self, names: Sequence[str]) -> list[task_run.TaskRun]:
    return [self._boss.runs[n] for n in names if n in self._boss.runs]
