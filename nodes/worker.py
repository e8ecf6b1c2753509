"""Runs a role's loop so that a stop always gets through to it.

A loop that waits inside C++ (for room in replay, or for a server that is gone)
runs no Python signal handler. Here the loop has a thread of its own, and the
node's main thread stays free to act on a stop.

A loop of this program calls `check` to find out whether it must end. Another
loop, such as Acme's, is interrupted wherever it is. A loop that waits outside
Python cannot be interrupted, and is left there.
"""

import contextlib
import ctypes
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from compat import launchpad_internals

import launchpad as lp
from absl import logging
from acme import core
from launchpad import context
from launchpad.launch import worker_manager

import container

_T = TypeVar('_T')
_POLL_SECONDS = 0.2
# How long a node may go on being made after a stop.
_MAKING_SECONDS = 2.5
# Things that end with their process rather than by their destructors.
_kept: list[Any] = []


def keep(thing: Any) -> None:
  """Keeps a thing alive to the end of its process, and all that it holds.

  So no destructor is called. Those of Reverb's servers and writers wait for
  rate limiters, which no other process frees any more at the end of a run.
  """
  _kept.append(thing)


def check() -> None:
  """Ends the loop of a `StoppableWorker` if it must end.

  Raises:
    SystemExit: this is the thread of a loop that must end.
  """
  thread = threading.current_thread()
  if isinstance(thread, _LoopThread) and thread.is_to_end.is_set():
    raise SystemExit


def make(function: Callable[[], _T]) -> _T:
  """Returns what a function makes for a node; a stop may end the process.

  To make a node may mean to wait for servers, or to compile, where nothing
  looks for a stop; and a node that is not made yet has nothing to save. In
  another thread than the main thread no stop is awaited, since the process is
  not the node's own.
  """
  if threading.current_thread() is not threading.main_thread():
    return function()
  stop, is_made = lp.stop_event(), threading.Event()

  def watch() -> None:
    stop.wait()
    if not is_made.wait(_MAKING_SECONDS):
      sys.stdout.flush()
      sys.stderr.flush()
      os._exit(0)

  threading.Thread(target=watch, name='making', daemon=True).start()
  try:
    return function()
  finally:
    is_made.set()


class Node(launchpad_internals.CourierNode):
  """A Courier node that a stop ends also while it is still being made."""

  def construct_instance(self) -> Any:
    """Returns the object to serve; a stop ends the process meanwhile."""
    return make(super().construct_instance)


@contextlib.contextmanager
def exits_fail() -> Iterator[None]:
  """Makes `sys.exit` a failure, unless the program stops.

  Otherwise an environment that calls it would end its process as if its work
  was done.

  Raises:
    RuntimeError: `sys.exit` was called; `__cause__` says where.
  """
  try:
    yield
  except SystemExit as e:
    # In the launcher, which makes some parts as well, there is no manager.
    manager = launchpad_internals.find_worker_manager()
    if manager is not None and manager.wait_for_stop(0):
      raise
    raise RuntimeError(
      f'sys.exit({"" if e.code is None else repr(e.code)}) was called, and the '
      'program was not to stop'
    ) from e


class StoppableWorker(core.Worker):
  """A worker that ends soon after a stop and then closes its resources.

  All public methods of the wrapped worker are served as well, so that a program
  whose run loops are disabled can be stepped through its handles.
  """

  def __init__(
    self,
    worker: core.Worker,
    close: Sequence[Callable[[], None]] = (),
    on_stop: Callable[[], None] = lambda: None,
    stop_seconds: float = 2.5,
    linger_seconds: float = 0.0,
  ):
    """Wraps `worker`.

    Args:
      worker: has the `run` that is to be stopped.
      close: called one after the other when the worker has ended or was left,
        also after a failure. The next is called even if one raises.
      on_stop: called when the worker must end, to end what it waits for. If it
        then fails with `StopIteration`, or as its client is closed, that is no
        failure of the node.
      stop_seconds: how long the worker may take to end, in seconds. After half
        of it the worker is interrupted.
      linger_seconds: how long the worker may go on after a stop before it must
        end, in seconds.
    """
    self._worker = worker
    self._close = tuple(close)
    self._on_stop = on_stop
    self._stop_seconds = stop_seconds
    self._linger_seconds = linger_seconds

  def __dir__(self):
    served = (name for name in dir(self._worker) if not name.startswith('_'))
    return sorted({*super().__dir__(), *served})

  def __getattr__(self, name: str) -> Any:
    if name.startswith('_'):
      raise AttributeError(name)
    return getattr(self._worker, name)

  def run(self) -> None:
    """Runs the worker until it ends, fails, or the program stops.

    Raises:
      Exception: the worker's error, or else the first error in closing.
    """
    loop = _LoopThread(self._worker.run)
    try:
      while loop.is_alive() and not lp.wait_for_stop(_POLL_SECONDS):
        pass
      if loop.is_alive():
        self._end(loop)
    finally:
      # Read before anything is closed: a loop that was left may then fail.
      error = loop.error
      keep(self._worker)
      close_error = self._close_all()
    if error is not None:
      raise error
    if close_error is not None:
      raise close_error

  def _end(self, loop: '_LoopThread') -> None:
    loop.join(self._linger_seconds)
    loop.is_to_end.set()
    self._on_stop()
    loop.join(self._stop_seconds / 2)
    deadline = time.monotonic() + self._stop_seconds / 2
    while loop.is_alive() and time.monotonic() < deadline:
      loop.interrupt()
      loop.join(_POLL_SECONDS)
    if loop.is_alive():
      logging.info('Left a loop that waits outside Python.')

  def _close_all(self) -> BaseException | None:
    first_error = None
    for close in self._close:
      try:
        close()
      except Exception as e:  # The others must be closed nevertheless.
        logging.exception('Closing failed')
        first_error = first_error or e
    return first_error


class _LoopThread(threading.Thread):
  """A thread that keeps the exception its target raised.

  Attributes:
    is_to_end: set when the loop must end.
    error: the error of the target itself, not one that a stop has caused.
  """

  def __init__(self, target: Callable[[], None]):
    super().__init__(daemon=True, name='loop')
    self._loop = target
    # Launchpad keeps both for each thread.
    self._context = context.get_context()
    self._manager = worker_manager.get_worker_manager()
    self._is_interrupted = False
    self.is_to_end = threading.Event()
    self.error: BaseException | None = None
    self.start()

  def run(self) -> None:
    context.set_context(self._context)
    launchpad_internals.set_worker_manager(self._manager)
    try:
      with exits_fail():
        self._loop()
    except SystemExit:
      pass
    except (StopIteration, container.ClosedError) as e:
      if not self.is_to_end.is_set():
        self.error = e
    except BaseException as e:
      if self._is_interrupted:
        # Code in between may have turned `SystemExit` into another error.
        logging.info('The loop was interrupted: %s: %s', type(e).__name__, e)
      else:
        self.error = e

  def interrupt(self) -> None:
    """Raises `SystemExit` in the thread, wherever it is in Python.

    In a destructor or a callback of the garbage collector Python drops the
    error, and would print it. So it is not printed, and `StoppableWorker` calls
    this again until the loop has ended.
    """
    if not self._is_interrupted:
      self._is_interrupted = True
      sys.unraisablehook = functools.partial(
        self._on_dropped, sys.unraisablehook
      )
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
      ctypes.c_ulong(self.ident), ctypes.py_object(SystemExit)
    )

  def _on_dropped(self, hook: Callable[[Any], None], dropped: Any) -> None:
    is_own_thread = threading.current_thread() is self
    if not (is_own_thread and dropped.exc_type is SystemExit):
      hook(dropped)
