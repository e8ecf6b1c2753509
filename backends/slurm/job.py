"""What people do with a run's job of Slurm: submit, look after, cancel it."""

import pathlib
import re
import subprocess
import time

from backends import api
from run_files import damage

_COMMAND_SECS = 60.0
# Slurm's KillWait is 30 s, and its own clean-up comes on top.
_CANCEL_SECS = 120.0
_POLL_SECS = 0.5
_FOLDER, _JOB = 'slurm', 'job'


class SlurmError(api.BackendError):
  """One of Slurm's commands is not there, fails or does not answer."""


def folder(run_dir: pathlib.Path) -> pathlib.Path:
  """Where a run keeps its job's script, plan and number."""
  return run_dir / _FOLDER


def submit(run_dir: pathlib.Path, script: str) -> str:
  """Submits the job of a run; returns its number.

  Args:
    run_dir: of the run, on storage that all nodes share.
    script: its text.

  Raises:
    SlurmError: Slurm does not take it.
  """
  folder(run_dir).mkdir(exist_ok=True)
  path = folder(run_dir) / 'job.sh'
  path.write_text(script)
  job, *_ = call('sbatch', '--parsable', str(path)).strip().split(';')
  (folder(run_dir) / _JOB).write_text(f'{job}\n')
  return job


def number(run_dir: pathlib.Path) -> str | None:
  """The number of a run's newest job; None if it has had none.

  Raises:
    DamagedError: the file holds something else.
  """
  path = folder(run_dir) / _JOB
  try:
    text = path.read_text(errors='replace').strip()
  except FileNotFoundError:
    return None
  if not re.fullmatch(r'[0-9][0-9_+]*', text):
    raise damage.DamagedError(f'{path} is damaged: {text!r} is no job of Slurm')
  return text


def state(job: str) -> str | None:
  """Returns what a job does, `PENDING (Priority)` say; None if it has ended.

  Raises:
    SlurmError: Slurm does not say.
  """
  try:
    lines = call('squeue', '--noheader', f'--jobs={job}', '--format=%T %r')
  except SlurmError as e:
    # Slurm forgets a job some minutes after its end.
    if 'Invalid job id' in str(e):
      return None
    raise
  if not lines:
    return None
  # A heterogeneous job has a line for each component.
  name, _, reason = lines.splitlines()[0].partition(' ')
  return name if reason in ('', 'None') else f'{name} ({reason})'


def cancel(job: str) -> None:
  """Cancels a job and waits for its end, for which a run saves what it has.

  Raises:
    SlurmError: Slurm does not do it, or not in time.
  """
  call('scancel', job)
  deadline = time.monotonic() + _CANCEL_SECS
  while (now := state(job)) is not None:
    if time.monotonic() > deadline:
      raise SlurmError(
        f'job {job} is still {now} {_CANCEL_SECS:.0f} s after scancel; '
        f'`scontrol show job {job}` says more'
      )
    time.sleep(_POLL_SECS)


def requeue(job: str) -> None:
  """Has Slurm end a running job and start it again.

  Raises:
    SlurmError: Slurm does not do it.
  """
  call('scontrol', 'requeue', job)


def node_names(text: str) -> list[str]:
  """Returns the nodes of Slurm's `gpu[1-3]`."""
  return call('scontrol', 'show', 'hostnames', text).split()


def node_address(node: str) -> str:
  """Returns the address that Slurm itself reaches a node at."""
  shown = call('scontrol', 'show', 'node', '--oneliner', node)
  match = re.search(r'\bNodeAddr=(\S+)', shown)
  return match[1] if match else node


def call(*command: str) -> str:
  """Returns what one of Slurm's commands prints.

  Raises:
    SlurmError: it is not there, fails or does not answer.
  """
  try:
    done = subprocess.run(
      command,
      stdin=subprocess.DEVNULL,
      capture_output=True,
      text=True,
      timeout=_COMMAND_SECS,
      check=False,
    )
  except FileNotFoundError:
    raise SlurmError(
      f'{command[0]} is not there: this machine has no Slurm. Type the command '
      'on a login node of the cluster.'
    ) from None
  except subprocess.TimeoutExpired:
    raise SlurmError(
      f'{command[0]} did not answer for {_COMMAND_SECS:.0f} s'
    ) from None
  if done.returncode:
    lines = done.stderr.strip() or f'exit code {done.returncode}'
    raise SlurmError(lines if command[0] in lines else f'{command[0]}: {lines}')
  return done.stdout
