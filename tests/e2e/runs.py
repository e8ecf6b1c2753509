"""Runs of `launch.py` as processes, and the files that they leave."""

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
# Seconds that no wait should take, even on a slow machine.
_PATIENCE = 150.0


class Run:
  """One run of `python launch.py`.

  Attributes:
    run_dir: the run directory.
    output_path: the file that gets standard output and standard error.
    process: the newest process of `launch.py`.
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
    """Returns each task of the run's status, by its name."""
    try:
      tasks = status.read(str(self.run_dir / 'logs')).tasks
    except FileNotFoundError:
      return {}
    return {task.name: task for task in tasks}

  def count(self, name) -> int:
    """Returns a count, summed over what all processes have reported."""
    path = self.run_dir / 'checkpoints' / 'counter.journal'
    return sum(
      totals.get(name, 0)
      for key, totals in journal.read(path).items()
      if key.startswith('report:')
    )

  def rows(self, name) -> list[dict]:
    """Returns a process's rows of metrics; none if it has written none."""
    path = self.run_dir / 'metrics' / f'{name}.csv'
    if not path.exists():
      return []
    with open(path, newline='') as f:
      return list(csv.DictReader(f))

  def column(self, name, metric) -> list[float]:
    """Returns one of a process's metrics, from the rows that have it."""
    return [float(row[metric]) for row in self.rows(name) if row.get(metric)]

  def left_over(self) -> list[int]:
    """Returns the pids of the run's processes that live."""
    return helpers.marked(str(self.run_dir))

  def wait_until(self, condition, what, timeout=_PATIENCE):
    """Waits until `condition()` is true; the run must go on meanwhile."""
    deadline = time.monotonic() + timeout
    while not condition():
      assert self.process.poll() is None, self.output
      assert time.monotonic() < deadline, f'no {what}:\n{self.output}'
      time.sleep(0.1)

  def wait_to_learn(self):
    self.wait_until(lambda: self.count('learner_steps') > 10, 'learner steps')
