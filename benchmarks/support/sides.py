"""The two programs that are measured side by side, as processes to run.

The side `launch.py` is this repository's program. The side `acme` is Acme's
`DistributedLayout` on Launchpad's `local_mp` (see `acme_layout`). Both run SAC
on Pendulum with the same settings, and an evaluator.
"""

import contextlib
import csv
import functools
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import psutil

from benchmarks.support import stamps
from run_files import status
from system import linux

SIDES = ('launch.py', 'acme')
_ROOT = pathlib.Path(__file__).parents[2]
_ENDLESS = 10**9
_END_SECONDS = 30.0
_TAIL_LINES = 30
# `acme_layout` writes this file; `launch.py` has the address in its status.
REPLAY_ADDRESS = 'replay_address'


@contextlib.contextmanager
def running(
  side: str, num_actors: int, directory: str, kept: str
) -> Iterator[subprocess.Popen]:
  """Starts a program, and at the end kills all its processes.

  Args:
    side: one of `SIDES`.
    num_actors: the number of actors. There is also an evaluator.
    directory: the folder for all files that the program writes. The program's
      output goes to the file `output` in it.
    kept: a folder for the files that a side caches from one run to the next.
  """
  env = dict(
    os.environ,
    HOME=directory,  # Acme writes checkpoints and metrics below it.
    PYTHONPATH=str(_ROOT),
    PYTHONPYCACHEPREFIX=f'{kept}/bytecode',
    # `launch.py` makes JAX keep compiled functions below this folder.
    XDG_CACHE_HOME=kept,
    **{stamps.DIRECTORY: directory},
  )
  env.pop('PYTHONDONTWRITEBYTECODE', None)
  command = _command(side, num_actors, directory)
  with started(command, env, directory, _END_SECONDS) as process:
    yield process


@contextlib.contextmanager
def started(
  command: Sequence[str],
  env: Mapping[str, str],
  directory: str,
  end_seconds: float,
) -> Iterator[subprocess.Popen]:
  """Starts a command, and at the end kills all its processes.

  Args:
    command: the command.
    env: its environment variables.
    directory: the folder that gets its output, as the file `output`.
    end_seconds: seconds that it may take to end by itself before that.
  """
  with open(f'{directory}/output', 'w') as output:
    process = subprocess.Popen(
      command,
      cwd=_ROOT,
      env=env,
      stdin=subprocess.DEVNULL,
      stdout=output,
      stderr=subprocess.STDOUT,
      start_new_session=True,
      preexec_fn=functools.partial(linux.die_with_parent, os.getpid()),
    )
  try:
    yield process
  finally:
    members = tree(process.pid)
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
      process.wait(end_seconds)
    for member in members:
      with contextlib.suppress(psutil.NoSuchProcess):
        member.kill()
    process.wait()


def tree(pid: int) -> list[psutil.Process]:
  """Returns a process and all its descendants, or [] if it has ended."""
  try:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]
  except psutil.NoSuchProcess:
    return []


def cpu(process: subprocess.Popen) -> float:
  """Returns the CPU seconds of all processes that a program has now."""
  times = [member.cpu_times() for member in tree(process.pid)]
  return sum(t.user + t.system for t in times)


def check(process: subprocess.Popen, directory: str) -> None:
  """Checks that a program still runs.

  Args:
    process: the program.
    directory: the folder that the program writes to.

  Raises:
    RuntimeError: the program has ended; the message has its last lines.
  """
  if process.poll() is not None:
    raise RuntimeError(f'{process.args} ended:\n{tail(directory)}')


def tail(directory: str) -> str:
  """Returns the last lines that a program has printed."""
  output = pathlib.Path(directory, 'output').read_text(errors='replace')
  return '\n'.join(output.splitlines()[-_TAIL_LINES:])


def replay_address(side: str, directory: str) -> str | None:
  """Returns the replay server's address, or None while it is not yet known.

  Args:
    side: one of `SIDES`.
    directory: the folder that the program writes to.
  """
  try:
    if side == 'acme':
      return pathlib.Path(directory, REPLAY_ADDRESS).read_text()
    tasks = status.read(f'{directory}/run/logs').tasks
  except FileNotFoundError:
    return None
  return next(task.addresses[0] for task in tasks if task.label == 'replay')


def report(
  kind: type[NamedTuple],
  runs: Iterable[NamedTuple],
  conclusions: Callable[[Sequence[NamedTuple]], Iterable[str]],
  csv_path: str | None,
) -> None:
  """Prints a row for each run when it has ended, then sentences about them.

  Args:
    kind: the type of the rows. Its fields are the titles of the columns.
    runs: yields the rows.
    conclusions: returns sentences about all rows.
    csv_path: the CSV file to which the table is written, or None.
  """
  width = max(map(len, kind._fields))
  rows = []
  print('  '.join(f'{name:>{width}}' for name in kind._fields))
  for row in runs:
    rows.append(row)
    cells = (f'{v:.1f}' if isinstance(v, float) else f'{v}' for v in row)
    print('  '.join(f'{cell:>{width}}' for cell in cells), flush=True)
  for sentence in conclusions(rows):
    print(sentence)
  if csv_path:
    with open(csv_path, 'w', newline='') as f:
      csv.writer(f).writerows([kind._fields, *rows])


def _command(side: str, num_actors: int, directory: str) -> list[str]:
  if side == 'acme':
    code = (
      'from benchmarks.support import acme_layout; '
      f'acme_layout.launch({num_actors}, {directory!r})'
    )
    return [sys.executable, '-c', code]
  return [
    sys.executable,
    'launch.py',
    f'--num_actors={num_actors}',
    '--env=module:benchmarks.support.stamps:make_environment',
    f'--num_steps={_ENDLESS}',
    f'--run_dir={directory}/run',
  ]
