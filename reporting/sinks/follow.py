"""The process that feeds one sink, until its standard input ends.

It prints `up` whenever the sink has all rows so far. If the sink fails, the
process prints why and ends; the next one goes on from what the sink has. After
its standard input has ended, it hands over the last rows and ends.
"""

import contextlib
import fcntl
import importlib
import os
import pathlib
import signal
import sys
import threading
import traceback
from typing import IO

from run_files import metrics, tail
from run_files import run_dir as run_dir_lib

UP = 'up'
_POLL_SECONDS = 1.0
_LESS_URGENT = 10


def main(name: str, run_dir: pathlib.Path, seconds: int) -> None:
  """Feeds a sink, and ends this process.

  Args:
    name: of the sink.
    run_dir: the run directory, which has metrics.
    seconds: the process is killed this many seconds after its standard input
      has ended.
  """
  # Actors and learner get the processor first.
  os.nice(_LESS_URGENT)
  # Libraries may print to standard output, which is for the launcher.
  lines = os.fdopen(os.dup(sys.stdout.fileno()), 'w', buffering=1)
  os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
  ended = threading.Event()
  threading.Thread(target=_watch, args=(ended, seconds), daemon=True).start()
  exit_code = 1
  try:
    with _locked(run_dir / 'metrics' / f'.{name}.lock'):
      _follow(name, run_dir, ended, lines)
    exit_code = 0
  except Exception as e:
    reason = ' '.join(str(e).split())
    print(f'{type(e).__name__}: {reason}', file=lines)
    # The log may be on a full disk.
    with contextlib.suppress(OSError):
      traceback.print_exc()
  with contextlib.suppress(OSError):
    sys.stderr.flush()
  # A library's threads and exit hooks may wait for a service that is down.
  os._exit(exit_code)


def _follow(
  name: str, run_dir: pathlib.Path, ended: threading.Event, lines: IO[str]
) -> None:
  module = importlib.import_module(f'reporting.sinks.{name}')
  sink = module.Sink(run_dir, run_dir_lib.read_config(run_dir))
  counts, tails = module.sent(run_dir), {}
  while True:
    # This is looked up before the rows are read, so that the last round misses
    # none.
    is_last = ended.is_set()
    for path in metrics.paths(run_dir):
      process = path.stem
      if process not in tails:
        tails[process] = tail.Tail(path, counts[process])
      while rows := tails[process].read():
        sink.write(process, rows)
    if is_last:
      break
    print(UP, file=lines)
    ended.wait(_POLL_SECONDS)
  sink.close()


def _watch(ended: threading.Event, seconds: int) -> None:
  """Waits until the launcher has closed the pipe, or has died."""
  sys.stdin.buffer.read()
  ended.set()
  # The signal ends the process wherever it waits.
  signal.alarm(seconds)


def _locked(path: pathlib.Path) -> IO[str]:
  """Returns a file that is locked while it is open.

  Raises:
    BlockingIOError: another process feeds this sink.
  """
  path.parent.mkdir(exist_ok=True)
  file = path.open('w')
  try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError:
    file.close()
    raise BlockingIOError('another process feeds it') from None
  return file
