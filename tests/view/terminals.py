"""Runs programs on a pseudo-terminal, and reads all that they write there."""

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
# The codes that move or hide the cursor, or erase; those of colours do not.
CURSOR_CODE = re.compile(r'\033\[[\d;?]*[A-Zhl]')


def run(
  *args: str, columns: int = 80, rows: int = 24, timeout: float = 150.0, **env
) -> tuple[int, str]:
  """Runs Python on a terminal.

  Args:
    *args: Python's arguments.
    columns: the terminal's width.
    rows: the terminal's height.
    timeout: in seconds.
    **env: environment variables, besides this process's.

  Returns:
    The exit code and the output.

  Raises:
    TimeoutError: the program did not end in time.
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
  # Once all writers have closed it, reading a terminal is an error.
  with contextlib.suppress(OSError):
    while chunk := _read_some(terminal, deadline):
      chunks.append(chunk)
  return b''.join(chunks).decode()


def _read_some(terminal: int, deadline: float) -> bytes:
  if not select.select([terminal], [], [], deadline - time.monotonic())[0]:
    raise TimeoutError('the program on the terminal did not end')
  return os.read(terminal, 1 << 16)
