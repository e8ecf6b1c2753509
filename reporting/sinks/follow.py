"""The process that feeds one sink, until its standard input ends.

Prints a line when the sink has all rows so far, and one with the reason when it
fails, which ends the process: the next starts from what the sink has. Once
standard input has ended, it takes the last rows and ends itself.
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
    run_dir: of a run that has metrics.
    seconds: from the end of standard input until the process is killed.
  """
  # Actors and learner come first.
  os.nice(_LESS_URGENT)
  # What libraries print goes where errors go.
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
    # The log may be on the disk that is full.
    with contextlib.suppress(OSError):
      traceback.print_exc()
  with contextlib.suppress(OSError):
    sys.stderr.flush()
  # A library's threads and hooks at exit may wait for who is down.
  os._exit(exit_code)


def _follow(
  name: str, run_dir: pathlib.Path, ended: threading.Event, lines: IO[str]
) -> None:
  module = importlib.import_module(f'reporting.sinks.{name}')
  sink = module.Sink(run_dir, run_dir_lib.read_config(run_dir))
  counts, tails = module.sent(run_dir), {}
  while True:
    # Asked for before the rows are, so that the last round misses none.
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
  """Waits until whoever started this process has closed the pipe, or died."""
  sys.stdin.buffer.read()
  ended.set()
  # Ends the process, wherever it waits.
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
