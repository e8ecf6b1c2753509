"""Slurm's commands: submit a run's job, ask for its state, cancel it."""

import pathlib
import re
import subprocess
import time

from backends import api
from run_files import damage

_COMMAND_SECS = 60.0
# Slurm's KillWait is 30 s, after which Slurm cleans up.
_CANCEL_SECS = 120.0
_POLL_SECS = 0.5
_FOLDER, _JOB = 'slurm', 'job'


class SlurmError(api.BackendError):
  """One of Slurm's commands is missing, fails or does not answer."""


def folder(run_dir: pathlib.Path) -> pathlib.Path:
  """Returns the folder that has the script, plan and number of a run's job."""
  return run_dir / _FOLDER


def submit(run_dir: pathlib.Path, script: str) -> str:
  """Submits the job of a run; returns the job's number.

  Args:
    run_dir: the run directory, on storage that all nodes share.
    script: the text of the job's script.

  Raises:
    SlurmError: Slurm does not take the job.
  """
  folder(run_dir).mkdir(exist_ok=True)
  path = folder(run_dir) / 'job.sh'
  path.write_text(script)
  job, *_ = call('sbatch', '--parsable', str(path)).strip().split(';')
  (folder(run_dir) / _JOB).write_text(f'{job}\n')
  return job


def number(run_dir: pathlib.Path) -> str | None:
  """Returns the number of a run's newest job; None if it never had one.

  Raises:
    DamagedError: the file does not hold a number.
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
  """Returns a job's state, such as `PENDING (Priority)`; None after its end.

  Raises:
    SlurmError: Slurm does not answer.
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
  """Cancels a job and waits for its end. The run saves its state before.

  Raises:
    SlurmError: Slurm does not cancel the job, or not in time.
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
    SlurmError: Slurm does not put the job back into its queue.
  """
  call('scontrol', 'requeue', job)


def node_names(text: str) -> list[str]:
  """Returns the nodes' names in a list of Slurm's, such as `gpu[1-3]`."""
  return call('scontrol', 'show', 'hostnames', text).split()


def node_address(node: str) -> str:
  """Returns the address at which Slurm itself reaches a node."""
  shown = call('scontrol', 'show', 'node', '--oneliner', node)
  match = re.search(r'\bNodeAddr=(\S+)', shown)
  return match[1] if match else node


def call(*command: str) -> str:
  """Returns what one of Slurm's commands prints.

  Raises:
    SlurmError: the command is missing, fails or does not answer.
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
      f'this machine has no {command[0]}, a command of Slurm. Type the command '
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
