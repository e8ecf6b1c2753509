"""A run that is a job of Slurm, as the tests see it."""

import os
import re
import subprocess
import sys

from backends.slurm import job
from tests import helpers
from tests.e2e import runs

# Seconds, more than any step of a test takes on a slow machine.
PATIENCE = 150.0


class Job(runs.Run):
  """A run whose launcher Slurm starts."""

  def submit(self, *flags):
    """Has `launch.py` submit it."""
    done = self.train('--backend=slurm', *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout

  def train(self, *flags):
    """Types the command that trains, in this run's directory."""
    return self._type(f'--run_dir={self.run_dir}', *flags)

  def ask(self, verb):
    """Types a verb about this run."""
    return self._type(verb, str(self.run_dir))

  def _type(self, *words):
    """Runs `launch.py` as on a login node."""
    return subprocess.run(
      [sys.executable, 'launch.py', *words],
      cwd=runs.ROOT,
      env={**os.environ, helpers.MARKER: str(self.run_dir)},
      capture_output=True,
      text=True,
      timeout=PATIENCE,
    )

  @property
  def number(self) -> str:
    return job.number(self.run_dir)

  @property
  def output(self) -> str:
    path = self.run_dir / 'logs' / f'slurm-{self.number}.out'
    return path.read_text() if path.exists() else ''

  @property
  def restarts(self) -> int:
    return int(shown(self.number, 'Restarts'))

  @property
  def state(self) -> str | None:
    return job.state(self.number)

  def wait_until(self, condition, what, timeout=PATIENCE):
    """Waits until `condition()` is true; fails if the job ends before."""

    def met():
      assert self.state is not None, self.output
      return condition()

    try:
      helpers.wait_until(met, what, timeout)
    except TimeoutError as e:
      raise TimeoutError(f'{e}:\n{self.output}') from None

  def end(self, timeout=PATIENCE) -> tuple[str, str]:
    """Waits for the end; returns Slurm's word, and exit code and signal."""
    return end(self.number, timeout)


def end(number: str, timeout=PATIENCE) -> tuple[str, str]:
  helpers.wait_until(
    lambda: job.state(number) is None, f'job {number}', timeout
  )
  return shown(number, 'JobState'), shown(number, 'ExitCode')


def shown(number: str, name: str) -> str:
  """Returns one of the values that `scontrol show job` prints."""
  text = job.call('scontrol', 'show', 'job', number)
  return re.search(rf'\b{name}=(\S+)', text)[1]


def wake_scheduler(number: str) -> None:
  """Has Slurm look at its queue again, as other jobs of a cluster would.

  Slurm looks at its heterogeneous jobs only when some job changes, and not when
  the time comes at which a requeued one may start.
  """
  job.call('scontrol', 'update', f'jobid={number}', 'comment=awake')
