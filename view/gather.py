"""Makes frames from the run's files and its replay server's answers."""

import collections
import functools
import math
import os
import pathlib
import time
from collections.abc import Sequence
from typing import NamedTuple

from reverb_wire import table_info
from run_files import metric_names, metrics, rates, status, tail
from view import frame
from watchdog import servers

# A rate is a mean over this many of the newest seconds, or over this many of
# the newest counts if these took longer.
_RATE_SECONDS, _RATE_COUNTS = 60.0, 5
# Rows that the view takes from a file: at first many, since a resumed run has
# evaluations already; later few each time, since actors with short episodes
# write more rows than a person can read.
_FIRST_ROWS, _ROWS = 500, 2
# The learner's waiting times are means over this many rows, one a second.
_LEARNER_ROWS = 16
# If there are more returns than this, every other one is dropped.
_MAX_RETURNS = 4096


class _Status(NamedTuple):
  """What the status file says of this process's run.

  Attributes:
    phase: what the launcher does.
    exit_code: the run's exit code, if it has ended.
    tasks: the run's tasks; none before the program is made.
  """

  phase: status.RunState
  exit_code: int | None
  tasks: Sequence[status.Task]


class Gatherer:
  """Makes frames of this process's run, one after another."""

  def __init__(self, run_dir: pathlib.Path, goal: frame.Goal):
    """Begins with the steps and returns of a run that is resumed.

    Args:
      run_dir: the run directory.
      goal: what the run is, and when it ends.
    """
    self._run_dir = run_dir
    self._goal = goal
    # The column of the steps that end the run.
    self._counted = (
      metric_names.ACTOR_STEPS
      if goal.has_actors
      else metric_names.LEARNER_STEPS
    )
    self._began = time.time()
    self._tails: dict[str, tail.Tail] = {}
    # The newest value of each metric, by the names of tasks.
    self._newest: dict[str, metrics.Row] = {}
    self._learner = collections.deque(maxlen=_LEARNER_ROWS)
    self._counts = collections.deque([rates.Point(self._began, 0)], maxlen=256)
    self._returns = {'actor': [], 'evaluator': []}
    self._replay = servers.TablesPoller()
    self._tables: Sequence[table_info.TableInfo] = ()

  def close(self) -> None:
    """Closes the connection to the replay server."""
    self._replay.close()

  def look(self) -> frame.Frame:
    """Returns the run as it is now, without waiting for any server."""
    self._read_rows()
    phase, exit_code, tasks = self._read_status()
    evaluated = not tasks or any(task.label == 'evaluator' for task in tasks)
    # The first count is the one from which a resumed run goes on.
    counts = list(self._counts)[1:]
    return frame.Frame(
      goal=self._goal,
      phase=phase,
      exit_code=exit_code,
      elapsed=time.time() - self._began,
      steps=self._counts[-1].count,
      rate=rates.per_second_now(
        counts, time.time(), _RATE_SECONDS, _RATE_COUNTS
      ),
      tasks=[self._task(task, phase) for task in tasks],
      tables=self._read_tables(phase, tasks),
      learner_time=self._learner_time(),
      returns=self._returns['evaluator' if evaluated else 'actor'],
      evaluated=evaluated,
    )

  def has_ended(self) -> bool:
    """Returns whether the run has ended."""
    return self._read_status().phase == status.RunState.ENDED

  def _read_status(self) -> _Status:
    try:
      found = status.read(str(self._run_dir / 'logs'))
    except FileNotFoundError:
      found = None
    # The file may be that of the run that this one resumes.
    if found is None or found.launcher.pid != os.getpid():
      return _Status(status.RunState.STARTING, None, ())
    return _Status(found.launcher.state, found.launcher.exit_code, found.tasks)

  def _read_rows(self) -> None:
    for path in metrics.paths(self._run_dir):
      label, _, index = path.stem.rpartition('_')
      name = f'{label}/{index}'
      max_rows = _ROWS
      if name not in self._tails:
        self._tails[name], max_rows = tail.Tail(path), _FIRST_ROWS
      for row in self._tails[name].read_newest(max_rows):
        self._take(label, name, tail.numbers(row))

  def _take(self, label: str, name: str, row: metrics.Row) -> None:
    if label in self._returns:
      self._take_return(label, row)
    count = row.get(self._counted, 0)
    count = int(count) if math.isfinite(count) else 0
    if row[metric_names.TIME] < self._began:
      # A resumed run goes on from this count.
      count = max(count, self._counts[0].count)
      self._counts[0] = rates.Point(self._began, count)
      return
    # Rows that come within an episode have no return, so the last one stays.
    self._newest[name] = {**self._newest.get(name, {}), **row}
    if count > self._counts[-1].count:
      self._counts.append(rates.Point(row[metric_names.TIME], count))
    if label == 'learner':
      self._take_learner(row)

  def _take_return(self, label: str, row: metrics.Row) -> None:
    returns = self._returns[label]
    column = metric_names.qualify(label, metric_names.EPISODE_RETURN)
    if column in row:
      returns.append(row[column])
    if len(returns) > _MAX_RETURNS:
      del returns[::2]

  def _take_learner(self, row: metrics.Row) -> None:
    rows = self._learner
    sums = metric_names.SAMPLE_WAIT, metric_names.WEIGHTS_BLOCKED
    if rows and any(row.get(s, 0) < rows[-1].get(s, 0) for s in sums):
      # The sums of a learner that was restarted begin at 0.
      rows.clear()
    rows.append(row)

  def _learner_time(self) -> frame.LearnerTime | None:
    if len(self._learner) < 2:
      return None
    seconds = self._since(metric_names.TIME)
    if not seconds:
      return None
    sampling = min(self._since(metric_names.SAMPLE_WAIT) / seconds, 1.0)
    publishing = self._since(metric_names.WEIGHTS_BLOCKED) / seconds
    return frame.LearnerTime(sampling, min(publishing, 1.0 - sampling))

  def _since(self, name: str) -> float:
    """Returns by how much a sum has risen over the learner's newest rows."""
    first, last = self._learner[0], self._learner[-1]
    return last.get(name, 0.0) - first.get(name, 0.0)

  def _task(self, task: status.Task, phase: status.RunState) -> frame.Task:
    label = task.label
    column = functools.partial(metric_names.qualify, label)
    row = self._newest.get(task.name, {})
    # Before any task starts, the modules that all need are imported.
    is_new = (
      phase == status.RunState.STARTING
      and task.state == status.TaskState.WAITING
    )
    return frame.Task(
      label=label,
      index=task.index,
      state=status.TaskState.STARTING if is_new else task.state,
      restarts=task.restarts,
      steps_per_second=row.get(column(metric_names.STEPS_PER_SECOND)),
      episode_return=row.get(column(metric_names.EPISODE_RETURN)),
      version=row.get(metric_names.WEIGHTS_VERSION),
      # The learner has no lag, since it makes the versions.
      lag=None if label == 'learner' else row.get(metric_names.WEIGHTS_LAG),
    )

  def _read_tables(
    self, phase: status.RunState, tasks: Sequence[status.Task]
  ) -> Sequence[table_info.TableInfo]:
    addresses = [
      address
      for task in tasks
      if task.label == 'replay'
      for address in task.addresses
    ]
    # While a run stops, its server ends, and the last answer stays in view.
    if phase == status.RunState.RUNNING and addresses:
      self._tables = self._replay.poll(addresses[0])
    return self._tables
