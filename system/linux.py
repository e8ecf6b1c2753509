"""The system calls of Linux that Python does not offer."""

import contextlib
import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = (ctypes.c_int,) + (ctypes.c_ulong,) * 4


def _prctl(option: int, argument: int) -> None:
  if _libc.prctl(option, argument, 0, 0, 0):
    code = ctypes.get_errno()
    raise OSError(code, f'prctl({option}): {os.strerror(code)}')


def die_with_parent(parent: int) -> None:
  """Has the kernel kill this process when its parent dies.

  Args:
    parent: the parent's pid. If it is dead already, this process kills itself.
  """
  _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
  if os.getppid() != parent:
    os.kill(os.getpid(), signal.SIGKILL)


def outlive_parent() -> None:
  """Undoes `die_with_parent`."""
  _prctl(_PR_SET_PDEATHSIG, 0)


def adopt_orphans() -> None:
  """Has this process become the parent of its orphaned descendants."""
  _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def take_own_session(parent: int, output: int) -> None:
  """Gives this newly forked process its own session, signals and output.

  A Ctrl-C in the terminal does not reach another session. So only the launcher
  decides when each task stops.

  Args:
    parent: the pid of its parent. When the parent dies, this process dies.
    output: the file descriptor for its standard output and error.
  """
  os.setsid()
  die_with_parent(parent)
  for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
    signal.signal(signum, signal.SIG_DFL)
  signal.signal(signal.SIGINT, signal.default_int_handler)
  null = os.open(os.devnull, os.O_RDONLY)
  os.dup2(null, 0)
  os.dup2(output, 1)
  os.dup2(output, 2)
  os.close(null)
  os.close(output)


def set_name(name: str) -> None:
  """Sets the name of this process in `ps` and `top`; they show 15 bytes."""
  buffer = ctypes.create_string_buffer(name.encode())
  _prctl(_PR_SET_NAME, ctypes.addressof(buffer))


def thread_names() -> list[str]:
  """Returns the names of this process's threads, with those of C libraries."""
  names = []
  for thread in os.listdir('/proc/self/task'):
    with open(f'/proc/self/task/{thread}/comm') as f:
      names.append(f.read().strip())
  return names


def pids() -> list[int]:
  """Returns the pids of all processes."""
  return [int(name) for name in os.listdir('/proc') if name.isdigit()]


def kill_session(session: int) -> None:
  """Kills every process of a session."""
  for pid in pids():
    with contextlib.suppress(ProcessLookupError, PermissionError):
      if os.getsid(pid) == session:
        os.kill(pid, signal.SIGKILL)


def kill_marked(marker: str) -> None:
  """Kills every process that was started with a certain environment variable.

  Args:
    marker: the variable, as `NAME=value`.
  """
  for pid in pids():
    with contextlib.suppress(OSError), open(f'/proc/{pid}/environ', 'rb') as f:
      if marker.encode() in f.read().split(b'\0'):
        os.kill(pid, signal.SIGKILL)
