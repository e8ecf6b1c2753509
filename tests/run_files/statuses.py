"""Parts of a run's status, of which tests name only what matters to them."""

import dataclasses

from run_files import status


def launcher(**fields) -> status.Launcher:
  """Returns this process as the launcher of a run that goes on."""
  mine = status.this_launcher(status.RunState.RUNNING)
  return dataclasses.replace(mine, **fields)


def task(label: str = 'actor', index: int = 0, **fields) -> status.Task:
  """Returns a task that runs since 1970."""
  running = {'pid': None, 'state': status.TaskState.RUNNING, 'started': 0.0}
  never_ended = {'restarts': 0, 'exit_code': None, 'addresses': []}
  return status.Task(label, index, **{**running, **never_ended, **fields})
