"""Reads the stacks of a task's threads, even if the task hangs.

A process that hangs may run no Python code. So each task calls `serve`, which
installs a signal handler that needs no lock of Python. At the signal, it writes
the stacks of all threads to a file in memory. `ask` sends the signal and reads
the file, as any process of the same user may.
"""

import contextlib
import faulthandler
import fcntl
import os
import pathlib
import re
import signal
import time
from typing import NamedTuple

_SIGNAL = signal.SIGUSR2
_NAME = 'stacks'
_ANSWER_SECS = 1.0
_POLL_SECS = 0.05
# The kernel keeps this many bytes of a process's name.
_NAME_BYTES = 15
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')


class Frame(NamedTuple):
  """A call that has not returned.

  Attributes:
    path: the path of the source file.
    line: the number of the line in the file, from 1.
    name: the name of the function.
  """

  path: str
  line: int
  name: str


def serve() -> None:
  """Lets `ask` read the stacks of this process from now on."""
  memory = os.memfd_create(_NAME)
  # `ask` empties the file, so each answer is appended at its end.
  fcntl.fcntl(memory, fcntl.F_SETFL, os.O_APPEND)
  faulthandler.register(_SIGNAL, memory, all_threads=True)


def ask(pid: int, name: str) -> list[list[Frame]]:
  """Returns the stacks of a process's threads.

  Args:
    pid: the pid of the process.
    name: the name of the task that should run in it.

  Returns:
    For each thread its calls, the newest first. Empty if there is no such
    process, if another task runs in it, or if it does not answer.
  """
  process = pathlib.Path(f'/proc/{pid}')
  with contextlib.suppress(OSError, ValueError):
    if (process / 'comm').read_text().strip() != _short(name):
      return []
    # The signal would end a process that has not called `serve`.
    if not _catches(process):
      return []
    memory = next(
      (fd for fd in (process / 'fd').iterdir() if _is_memory(fd)), None
    )
    if memory is not None:
      os.truncate(memory, 0)
      os.kill(pid, _SIGNAL)
      return _parse(_read(memory))
  return []


def _short(name: str) -> str:
  return name.encode()[:_NAME_BYTES].decode(errors='ignore')


def _catches(process: pathlib.Path) -> bool:
  for line in (process / 'status').read_text().splitlines():
    if line.startswith('SigCgt:'):
      return bool(int(line.split()[1], 16) >> (_SIGNAL - 1) & 1)
  return False


def _is_memory(descriptor: pathlib.Path) -> bool:
  with contextlib.suppress(OSError):
    return os.readlink(descriptor).startswith(f'/memfd:{_NAME}')
  return False


def _read(memory: pathlib.Path) -> str:
  """Returns the text in the memory file, once it no longer grows."""
  deadline = time.monotonic() + _ANSWER_SECS
  before, text = None, ''
  while (not text or text != before) and time.monotonic() < deadline:
    time.sleep(_POLL_SECS)
    before, text = text, memory.read_text(errors='replace')
  return text


def _parse(text: str) -> list[list[Frame]]:
  threads = []
  for line in text.splitlines():
    if 'hread 0x' in line:
      threads.append([])
    elif threads and (found := _FRAME.fullmatch(line)):
      threads[-1].append(Frame(found[1], int(found[2]), found[3]))
  return threads
