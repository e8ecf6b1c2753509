"""Starts runs of `launch.py` as processes, and reads the files they write."""

import contextlib
import csv
import os
import pathlib
import subprocess
import sys
import time

from nodes.saving import journal
from run_files import status
from tests import helpers

ROOT = pathlib.Path(__file__).parents[2]
# The longest that a wait may take, in seconds, even on a slow machine.
_PATIENCE = 150.0


class Run:
  """One run of `python launch.py`.

  Attributes:
    run_dir: the run directory.
    output_path: the file that standard output and standard error go to.
    process: the process of `launch.py` that was started last.
  """

  def __init__(self, run_dir: pathlib.Path):
    self.run_dir = run_dir
    self.output_path = run_dir.with_name(f'{run_dir.name}.output')
    self.process = None

  @property
  def output(self) -> str:
    return self.output_path.read_text()

  @contextlib.contextmanager
  def launch(self, *flags):
    """Starts `launch.py`; yields its process, and kills it at the end."""
    with open(self.output_path, 'w') as output:
      self.process = subprocess.Popen(
        [sys.executable, 'launch.py', f'--run_dir={self.run_dir}', *flags],
        cwd=ROOT,
        env={**os.environ, helpers.MARKER: str(self.run_dir)},
        stdout=output,
        stderr=subprocess.STDOUT,
      )
      try:
        yield self.process
      finally:
        self.process.kill()
        self.process.wait()

  def end(self, timeout=_PATIENCE) -> int:
    """Waits until the run has ended by itself; returns its exit code."""
    return self.process.wait(timeout)

  def tasks(self) -> dict[str, status.Task]:
    """Returns the tasks in the run's status file by their names, if any."""
    try:
      tasks = status.read(str(self.run_dir / 'logs')).tasks
    except FileNotFoundError:
      return {}
    return {task.name: task for task in tasks}

  def count(self, name) -> int:
    """Returns a count, summed over the reports of all processes.

    Args:
      name: the count's name, such as 'actor_steps'.
    """
    path = self.run_dir / 'checkpoints' / 'counter.journal'
    return sum(
      totals.get(name, 0)
      for key, totals in journal.read(path).items()
      if key.startswith('report:')
    )

  def rows(self, name) -> list[dict]:
    """Returns the rows of metrics that a process has written so far.

    Args:
      name: the name of the process's CSV file, such as 'actor_0'.
    """
    path = self.run_dir / 'metrics' / f'{name}.csv'
    if not path.exists():
      return []
    with open(path, newline='') as f:
      return list(csv.DictReader(f))

  def column(self, name, metric) -> list[float]:
    """Returns the values of one metric, from a process's rows that have it.

    Args:
      name: the name of the process's CSV file, such as 'actor_0'.
      metric: the metric's name, such as 'weights/version'.
    """
    return [float(row[metric]) for row in self.rows(name) if row.get(metric)]

  def left_over(self) -> list[int]:
    """Returns the pids of the run's processes that still live."""
    return helpers.marked(str(self.run_dir))

  def wait_until(self, condition, what, timeout=_PATIENCE):
    """Waits until `condition()` is true; the run must not end before.

    Args:
      condition: is called again and again.
      what: names what is waited for, in the error's text.
      timeout: in seconds.
    """
    deadline = time.monotonic() + timeout
    while not condition():
      assert self.process.poll() is None, self.output
      assert time.monotonic() < deadline, f'no {what}:\n{self.output}'
      time.sleep(0.1)

  def wait_to_learn(self):
    self.wait_until(lambda: self.count('learner_steps') > 10, 'learner steps')
