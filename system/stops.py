"""Ends this process at a signal, however far it has come.

For the time in which there is no run that could stop in order. Standard library
only, and quickly imported, so that it can come first.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading

# Ctrl-C, a service manager, a terminal that is gone.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_undoing = []


def begin():
  """Has each of the signals end this process from now on: 128 + its number.

  Raises nothing: Python would have an error which comes up inside a callback of
  a library written in C++ printed and forgotten, and the signal with it.
  """
  for signum in SIGNALS:
    # Whoever started this with a signal ignored (nohup, a shell's `&`) meant
    # it.
    if signal.getsignal(signum) is not signal.SIG_IGN:
      signal.signal(signum, _end)
  # Whoever starts this may have held them back until now.
  signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def give_up():
  """Leaves the signals to Python, and to whoever handles them next."""
  for signum in SIGNALS:
    if signal.getsignal(signum) is _end:
      is_interrupt = signum == signal.SIGINT
      default = signal.default_int_handler if is_interrupt else signal.SIG_DFL
      signal.signal(signum, default)


@contextlib.contextmanager
def undoing(undo):
  """Has a signal that ends this process meanwhile call `undo()` first.

  Args:
    undo: takes back what was done so far. It may come at any moment, before
      that was done too, and has to be quick.
  """
  _undoing.append(undo)
  try:
    yield
  finally:
    _undoing.remove(undo)


@contextlib.contextmanager
def holding_back():
  """Has signals wait meanwhile; yields what tells whether one has come.

  For the start of a library in C++ that would take them over: its threads never
  get one, and whoever handled them before does so again afterwards. Does
  nothing outside the main thread, which has the handlers.
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
  """Returns the exit code that a `SystemExit` asks for, and prints its text."""
  if error.code is None or isinstance(error.code, int):
    return error.code or 0
  print(error.code, file=sys.stderr)
  return 1


def leave(exit_code):
  """Ends the process as Python does, but before modules are torn down.

  Where daemon threads still call into gRPC, TensorFlow or JAX, that aborts
  ("terminate called without an active exception"); and signals would no longer
  be handled, which for a while may be hundreds of milliseconds.

  Args:
    exit_code: of the process.
  """
  threading._shutdown()  # Joins what is not a daemon.
  atexit._run_exitfuncs()
  for stream in (sys.stdout, sys.stderr):
    # Nobody may be left to read it.
    with contextlib.suppress(OSError, ValueError):
      stream.flush()
  os._exit(exit_code)


def _end(signum, frame):
  del frame
  for undo in reversed(_undoing):
    # It is of no use to say what went wrong, and to whom: it ends.
    with contextlib.suppress(Exception):
      undo()
  os._exit(128 + signum)
