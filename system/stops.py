"""Ends this process at a signal, while no run is there that handles it.

This module is the first that a program imports. So it uses only the standard
library, and is quickly imported.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading

# Sent by Ctrl-C, by a service manager, and when the terminal is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_undoing = []


def begin():
  """From now on, has each of the signals end this process.

  The exit code is 128 and the signal's number. The handler ends the process
  directly instead of raising an error: if Python is inside a callback from a
  C++ library, it prints an error and goes on, and the signal would be lost.
  """
  for signum in SIGNALS:
    # A signal that was ignored from the start (nohup, a shell's `&`) stays so.
    if signal.getsignal(signum) is not signal.SIG_IGN:
      signal.signal(signum, _end)
  # The process that started this one may have blocked them.
  signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def give_up():
  """Gives the signals back to Python's own handlers."""
  for signum in SIGNALS:
    if signal.getsignal(signum) is _end:
      is_interrupt = signum == signal.SIGINT
      default = signal.default_int_handler if is_interrupt else signal.SIG_DFL
      signal.signal(signum, default)


@contextlib.contextmanager
def undoing(undo):
  """Has `undo()` called if a signal ends this process within the context.

  Args:
    undo: a function that undoes what is done within the context. It may be
      called at any moment, even before anything is done, and must be quick.
  """
  _undoing.append(undo)
  try:
    yield
  finally:
    _undoing.remove(undo)


@contextlib.contextmanager
def holding_back():
  """Holds the signals back within the context, and then restores handlers.

  It is for the start of a C++ library that would replace the handlers. Threads
  that the library starts never get the signals, and afterwards the earlier
  handlers are back. Outside the main thread it does nothing, since only the
  main thread can set handlers.

  Yields:
    A function that returns whether one of the signals has come.
  """
  if threading.current_thread() is not threading.main_thread():
    yield lambda: False
    return
  before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
  try:
    yield lambda: bool(signal.sigpending() & set(SIGNALS))
  finally:
    for signum in SIGNALS:
      handler = signal.getsignal(signum)
      if handler is not None:
        signal.signal(signum, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def exit_code(error):
  """Returns the exit code of a `SystemExit`, and prints its text if any."""
  if error.code is None or isinstance(error.code, int):
    return error.code or 0
  print(error.code, file=sys.stderr)
  return 1


def leave(exit_code):
  """Ends the process as Python does, but without finalizing the interpreter.

  If daemon threads still call gRPC, TensorFlow or JAX, finalizing aborts the
  process ("terminate called without an active exception"). It may also take
  hundreds of milliseconds, during which no signal is handled.

  Args:
    exit_code: the exit code of the process.
  """
  threading._shutdown()  # Joins the threads that are not daemons.
  atexit._run_exitfuncs()
  for stream in (sys.stdout, sys.stderr):
    # The process that read this stream may be gone.
    with contextlib.suppress(OSError, ValueError):
      stream.flush()
  os._exit(exit_code)


def _end(signum, frame):
  del frame
  for undo in reversed(_undoing):
    # The process must end even if this fails.
    with contextlib.suppress(Exception):
      undo()
  os._exit(128 + signum)
