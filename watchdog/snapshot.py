"""What a run is doing now, from its files and its servers' answers."""

import itertools
import math
import pathlib
import time
from typing import NamedTuple

from run_files import metrics, rates
from run_files import status as status_lib
from watchdog import servers

# Rates are means over this many of the newest seconds.
_RATE_SECONDS = 30.0


class Snapshot(NamedTuple):
  """A run at one moment.

  Attributes:
    status: what the run's launcher wrote about itself and the tasks.
    rows: the newest rows of metrics of each task that writes any, by the
      task's name.
    tables: the tables of the Reverb servers that answered, by the task's name.
    silent: the addresses of running tasks that did not answer, by the task's
      name.
  """

  status: status_lib.RunStatus
  rows: dict[str, list[metrics.Row]]
  tables: dict[str, list[servers.Waiting]]
  silent: dict[str, str]

  def count(self, name: str) -> int:
    """Returns the newest value of a count, such as `actor/steps`."""
    counts = (point.count for point in self._points(name))
    return int(max(filter(math.isfinite, counts), default=0))

  def rate(self, name: str) -> float | None:
    """Returns by how much a count rises a second; None if that is unknown."""
    # Older rows tell how fast it was before it got stuck.
    since = time.time() - _RATE_SECONDS
    return rates.per_second(self._points(name), since)

  @property
  def tasks(self) -> dict[str, status_lib.Task]:
    """The run's tasks by name."""
    return {task.name: task for task in self.status.tasks}

  @property
  def inserts(self) -> int:
    """The number of items inserted into replay since its server started."""
    tables = self.tables.get('replay/0', ())
    return sum(waiting.table.inserts for waiting in tables)

  def with_label(self, label: str) -> list[str]:
    """Returns the names of the tasks of a role."""
    return [task.name for task in self.status.tasks if task.label == label]

  def _points(self, name: str) -> list[rates.Point]:
    return rates.points(itertools.chain(*self.rows.values()), name)


def take(run_dir: str | pathlib.Path) -> Snapshot:
  """Looks at a run, which takes about a second while it runs.

  Raises:
    FileNotFoundError: no run has written its status there.
  """
  run_dir = pathlib.Path(run_dir)
  run_status = status_lib.read(str(run_dir / 'logs'))
  addresses = {
    task.name: address
    for task in run_status.tasks
    if run_status.uptime(task) is not None
    for address in task.addresses
  }
  answers = servers.ask(addresses.values())
  return Snapshot(
    status=run_status,
    rows=metrics.read_newest(run_dir),
    tables={
      name: answers.tables[address]
      for name, address in addresses.items()
      if address in answers.tables
    },
    silent={n: a for n, a in addresses.items() if a in answers.silent},
  )
