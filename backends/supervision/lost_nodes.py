"""Which tasks start again once another node has replaced a lost one.

The tasks of a lost node wait in the state LOST. A task that calls one of them
may crash meanwhile; then it waits too, in the state WAITING. Once another node
has replaced the lost one, `moves` says which tasks the supervisor has to start
again.
"""

from collections.abc import Collection
from typing import NamedTuple

from backends.supervision import run_tasks
from backends.supervision import task as task_lib
from run_files.status import TaskState


class Moves(NamedTuple):
  """What to do when another node has replaced a lost one.

  Attributes:
    renew: the running tasks that call a task of the lost node, whose address
      has changed. They must stop and start again with the new address.
    start: the tasks of the lost node, and the tasks that crashed and waited for
      them. They must start.
  """

  renew: list[task_lib.Task]
  start: list[task_lib.Task]


def calls_lost_task(task: task_lib.Task, tasks: run_tasks.RunTasks) -> bool:
  """Returns whether a task calls a task whose node is lost."""
  return _calls(task, _lost(tasks), tasks)


def moves(names: Collection[str], tasks: run_tasks.RunTasks) -> Moves:
  """Returns what to do when another node has replaced a lost one.

  Args:
    names: the names of the tasks that ran on the lost node, `label/index`.
    tasks: the tasks of the run.
  """
  callers = tasks.callers(names)
  still_lost = [name for name in _lost(tasks) if name not in names]
  start = [t for t in tasks.find(names) if t.state is TaskState.LOST]
  start += [
    task
    for task in callers
    if task.state is TaskState.WAITING and not _calls(task, still_lost, tasks)
  ]
  renew = [
    task
    for task in callers
    if task.alive and task.state is not TaskState.LEAVING
  ]
  return Moves(renew, start)


def _lost(tasks: run_tasks.RunTasks) -> list[str]:
  return [
    name for name, t in tasks.by_name.items() if t.state is TaskState.LOST
  ]


def _calls(
  task: task_lib.Task, names: Collection[str], tasks: run_tasks.RunTasks
) -> bool:
  return any(task in tasks.callers([name]) for name in names)
