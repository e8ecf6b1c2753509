"""Programs on a pseudo-terminal, and all that they write there."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

ROOT = pathlib.Path(__file__).parents[2]
# Moves or hides the cursor, or erases; colours do not.
CURSOR_CODE = re.compile(r'\033\[[\d;?]*[A-Zhl]')


def run(
  *args: str, columns: int = 80, rows: int = 24, timeout: float = 150.0, **env
) -> tuple[int, str]:
  """Runs Python on a terminal; returns exit code and what came out.

  Args:
    *args: of Python.
    columns: of the terminal.
    rows: of the terminal.
    timeout: in seconds.
    **env: of the process, beside this one's.

  Raises:
    TimeoutError: it did not end.
  """
  ours, theirs = pty.openpty()
  fcntl.ioctl(
    theirs, termios.TIOCSWINSZ, struct.pack('4H', rows, columns, 0, 0)
  )
  kept = {k: v for k, v in os.environ.items() if k != 'NO_COLOR'}
  process = subprocess.Popen(
    [sys.executable, *args],
    cwd=ROOT,
    env={**kept, 'TERM': 'xterm-256color', **env},
    stdin=theirs,
    stdout=theirs,
    stderr=theirs,
    start_new_session=True,
  )
  os.close(theirs)
  try:
    output = _read(ours, time.monotonic() + timeout)
    return process.wait(timeout), output.replace('\r\n', '\n')
  finally:
    process.kill()
    process.wait()
    os.close(ours)


def _read(terminal: int, deadline: float) -> str:
  chunks = []
  # A terminal that nobody writes to any more is an error to read.
  with contextlib.suppress(OSError):
    while chunk := _read_some(terminal, deadline):
      chunks.append(chunk)
  return b''.join(chunks).decode()


def _read_some(terminal: int, deadline: float) -> bytes:
  if not select.select([terminal], [], [], deadline - time.monotonic())[0]:
    raise TimeoutError('the program on the terminal did not end')
  return os.read(terminal, 1 << 16)
