"""Runs a role's loop so that a stop always ends it.

While a loop waits inside C++ (for room in replay, or for a server that does not
answer), Python runs no signal handler. So the loop has its own thread here, and
the node's main thread stays free to act on a stop.

A loop of this program calls `check` to find out whether it must end. A loop
that does not, such as Acme's, is interrupted in the middle of its code. A loop
that waits outside Python cannot be interrupted. It is left running, and ends
with its process.
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
# How long after a stop a node may still be in the making.
_MAKING_SECONDS = 2.5
# Objects that are kept so that their destructors never run.
_kept: list[Any] = []


def keep(thing: Any) -> None:
  """Keeps an object, and all that it refers to, until its process ends.

  So their destructors never run. The destructors of Reverb's servers and
  writers would wait for rate limiters. At the end of a run they would wait in
  vain, since no other process inserts or samples any more.
  """
  _kept.append(thing)


def check() -> None:
  """Ends the loop of a `StoppableWorker` if it must end.

  Raises:
    SystemExit: the calling thread runs a loop that must end.
  """
  thread = threading.current_thread()
  if isinstance(thread, _LoopThread) and thread.is_to_end.is_set():
    raise SystemExit


def make(function: Callable[[], _T]) -> _T:
  """Calls a function that makes a node's object, and returns the object.

  The function may wait for servers or compile, and it does not look for a stop
  meanwhile. So if it is not done a short time after a stop, the process exits:
  a node that is not made yet has nothing to save. Outside the main thread this
  only calls the function, since other nodes may share the process.
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
  """A Courier node that a stop ends even while its object is being made."""

  def construct_instance(self) -> Any:
    """Returns the object to serve; see `make`."""
    return make(super().construct_instance)


@contextlib.contextmanager
def exits_fail() -> Iterator[None]:
  """Makes a call of `sys.exit` a failure, unless the program is stopping.

  Without this, an environment that calls `sys.exit` would end its process as if
  the process had finished its work.

  Raises:
    RuntimeError: `sys.exit` was called; `__cause__` says where.
  """
  try:
    yield
  except SystemExit as e:
    # The launcher makes some parts as well, and it has no worker manager.
    manager = launchpad_internals.find_worker_manager()
    if manager is not None and manager.wait_for_stop(0):
      raise
    raise RuntimeError(
      f'sys.exit({"" if e.code is None else repr(e.code)}) was called while '
      'the program was not stopping'
    ) from e


class StoppableWorker(core.Worker):
  """A worker that ends soon after a stop and then closes its resources.

  It also has all public methods of the wrapped worker. So a test can launch a
  program without its run loops, and call the steps through the handles.
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
      worker: the worker whose `run` is called.
      close: functions that are called in order when the worker has ended or was
        left running, also after a failure. If one raises, the next is still
        called.
      on_stop: called when the worker must end, to free it from what it waits
        for. If the worker then fails with `StopIteration` or
        `container.ClosedError`, the node does not fail.
      stop_seconds: seconds that the worker may take to end. After half of them
        it is interrupted.
      linger_seconds: seconds that the worker may go on after a stop before it
        must end.
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
    """Runs the worker until it ends, it fails, or the program stops.

    Raises:
      Exception: the worker's error, or else the first error of a `close`.
    """
    loop = _LoopThread(self._worker.run)
    try:
      while loop.is_alive() and not lp.wait_for_stop(_POLL_SECONDS):
        pass
      if loop.is_alive():
        self._end(loop)
    finally:
      # This reads the error before anything is closed: a loop that was left
      # running may fail once its resources are closed.
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
      logging.info('A loop waits outside Python, and was left running.')

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
    error: the error that the target raised, unless a stop caused it.
  """

  def __init__(self, target: Callable[[], None]):
    super().__init__(daemon=True, name='loop')
    self._loop = target
    # Launchpad keeps a context and a manager for each thread.
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
        # Code that the loop calls may turn `SystemExit` into another error.
        logging.info('The loop was interrupted: %s: %s', type(e).__name__, e)
      else:
        self.error = e

  def interrupt(self) -> None:
    """Raises `SystemExit` in the thread, wherever it is in Python.

    If the thread is in a destructor or in a callback of the garbage collector,
    Python prints the error and drops it. So the print is suppressed, and
    `StoppableWorker` calls this method again until the loop has ended.
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
