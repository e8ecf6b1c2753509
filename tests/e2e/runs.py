"""Runs of `launch.py` from outside, and what they leave, for the tests."""

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
# Longer than any wait here should take on a slow machine.
_PATIENCE = 150.0


class Run:
  """One `python launch.py` with a run directory of its own."""

  def __init__(self, run_dir: pathlib.Path):
    self.run_dir = run_dir
    self.output_path = run_dir.with_name(f'{run_dir.name}.output')
    self.process = None

  @property
  def output(self) -> str:
    return self.output_path.read_text()

  @contextlib.contextmanager
  def launch(self, *flags):
    """Starts it; yields the process, which is killed at the end."""
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
    """Returns the exit code, once it has ended by itself."""
    return self.process.wait(timeout)

  def tasks(self) -> dict[str, status.Task]:
    """What the run's status says of each task, by name."""
    try:
      tasks = status.read(str(self.run_dir / 'logs')).tasks
    except FileNotFoundError:
      return {}
    return {task.name: task for task in tasks}

  def count(self, name) -> int:
    """What all processes together have reported to the counter."""
    path = self.run_dir / 'checkpoints' / 'counter.journal'
    return sum(
      totals.get(name, 0)
      for key, totals in journal.read(path).items()
      if key.startswith('report:')
    )

  def rows(self, name) -> list[dict]:
    """A process's metrics; none if it has written none yet."""
    path = self.run_dir / 'metrics' / f'{name}.csv'
    if not path.exists():
      return []
    with open(path, newline='') as f:
      return list(csv.DictReader(f))

  def column(self, name, metric) -> list[float]:
    """One of a process's metrics, in the rows that have it."""
    return [float(row[metric]) for row in self.rows(name) if row.get(metric)]

  def left_over(self) -> list[int]:
    """The pids of the run's processes that live."""
    return helpers.marked(str(self.run_dir))

  def wait_until(self, condition, what, timeout=_PATIENCE):
    """Waits for a true `condition()`, while the run goes on."""
    deadline = time.monotonic() + timeout
    while not condition():
      assert self.process.poll() is None, self.output
      assert time.monotonic() < deadline, f'no {what}:\n{self.output}'
      time.sleep(0.1)

  def wait_to_learn(self):
    self.wait_until(lambda: self.count('learner_steps') > 10, 'learner steps')
