"""The states of a task and the changes between them."""

import types

import pytest

from backends.supervision import task as task_lib
from run_files.status import TaskState


def _task(*states):
  task = task_lib.Task(
    types.SimpleNamespace(name='actor/0'), order=None, log=None, budget=None
  )
  for state in states:
    task.move_to(state)
  return task


def test_every_state_has_its_transitions():
  assert set(task_lib.TRANSITIONS) == set(TaskState)


def test_a_task_is_over_in_a_state_without_successor():
  task = _task(TaskState.STARTING, TaskState.RUNNING)
  assert (task.alive, task.over) == (True, False)
  task.move_to(TaskState.FINISHED)
  assert (task.alive, task.over) == (False, True)


def test_a_transition_that_is_not_allowed_is_an_error_that_names_it():
  task = _task(TaskState.STARTING, TaskState.FAILED)
  message = 'actor/0 is failed; the state running may not follow'
  with pytest.raises(ValueError, match=message):
    task.move_to(TaskState.RUNNING)
  assert task.state is TaskState.FAILED
