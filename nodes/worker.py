"""Runs a role's loop so that a stop always gets through to it.

Every role needs this, so it has a file of its own. A loop that waits inside C++
(a full replay, a server that is gone) runs no Python signal handler. Here the
loop has a thread of its own, and the node's thread stays free to act on a stop.

A loop looks at whether it is to end by `check`. One that does not, for it is
somebody else's, is interrupted wherever it is; one that waits outside Python is
left there.
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
# What is being made may take so long to be there, from a stop on.
_MAKING_SECONDS = 2.5
# What is to end with its process rather than by its destructor.
_kept: list[Any] = []


def keep(thing: Any) -> None:
  """Keeps the destructors of a thing from being called, and of all it holds.

  Those of Reverb's servers and writers wait for rate limiters, which at the end
  of a run nobody frees any more.
  """
  _kept.append(thing)


def check() -> None:
  """Ends the loop of a `StoppableWorker`, if it is to; else does nothing.

  Raises:
    SystemExit: it is called in the thread of a loop that is to end.
  """
  thread = threading.current_thread()
  if isinstance(thread, _LoopThread) and thread.is_to_end.is_set():
    raise SystemExit


@contextlib.contextmanager
def making() -> Iterator[None]:
  """Has a stop soon end this process, which has nothing to save, meanwhile.

  What a node is made of may wait for its servers, or compile, and looks at
  nothing else. Elsewhere than in the main thread of a process this does
  nothing: there the process is not the node's own.
  """
  if threading.current_thread() is not threading.main_thread():
    yield
    return
  stop, is_made = lp.stop_event(), threading.Event()

  def watch() -> None:
    stop.wait()
    if not is_made.wait(_MAKING_SECONDS):
      sys.stdout.flush()
      sys.stderr.flush()
      os._exit(0)

  threading.Thread(target=watch, name='making', daemon=True).start()
  try:
    yield
  finally:
    is_made.set()


def make(function: Callable[[], _T]) -> _T:
  """Returns what a function makes for a node; see `making`."""
  with making():
    return function()


class Node(launchpad_internals.CourierNode):
  """A Courier node that a stop ends while it is still being made, too."""

  def construct_instance(self) -> Any:
    return make(super().construct_instance)


@contextlib.contextmanager
def exits_fail() -> Iterator[None]:
  """Makes `sys.exit` a failure, unless the program stops.

  An environment that calls it would end its process as if all were done.

  Raises:
    RuntimeError: it was called; `__cause__` says where.
  """
  try:
    yield
  except SystemExit as e:
    # The launcher, which makes some parts first, has no manager.
    manager = launchpad_internals.find_worker_manager()
    if manager is not None and manager.wait_for_stop(0):
      raise
    raise RuntimeError(
      f'sys.exit({"" if e.code is None else repr(e.code)}) was called, and the '
      'program was not to stop'
    ) from e


class StoppableWorker(core.Worker):
  """A worker that ends soon after a stop and then closes what it was given.

  All public methods of the worker are served as well, so a program whose run
  loops are disabled can be stepped through its handles.
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
      worker: what runs.
      close: called in this order when the worker has ended or was given up,
        also after a failure; one that raises does not keep the next from it.
      on_stop: called when the worker is to end, to end a wait of its: that it
        then meets `StopIteration`, or a client that is closed, is no failure.
      stop_seconds: how long a worker that is to end may take for it; half of
        that before it is interrupted.
      linger_seconds: how long a stopped worker may go on before it is to end.
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
      Exception: whatever the worker raised, or else the first error in closing.
    """
    loop = _LoopThread(self._worker.run)
    try:
      while loop.is_alive() and not lp.wait_for_stop(_POLL_SECONDS):
        pass
      if loop.is_alive():
        self._end(loop)
    finally:
      # What a loop that was left meets in closed clients is no failure.
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
      except Exception as e:  # The others must be closed all the same.
        logging.exception('Closing failed')
        first_error = first_error or e
    return first_error


class _LoopThread(threading.Thread):
  """A thread that keeps the exception its target raised.

  Attributes:
    is_to_end: set when it is.
    error: what the target failed with, of itself.
  """

  def __init__(self, target: Callable[[], None]):
    super().__init__(daemon=True, name='loop')
    self._loop = target
    # Launchpad keeps both by thread.
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
        # Code between may have made another error of it.
        logging.info('The loop was interrupted: %s: %s', type(e).__name__, e)
      else:
        self.error = e

  def interrupt(self) -> None:
    """Raises `SystemExit` in it, wherever it is in Python.

    Where that is a destructor or a callback of the garbage collector, Python
    drops the error, and would print it: the next one gets through.
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
    is_ours = threading.current_thread() is self
    if not (is_ours and dropped.exc_type is SystemExit):
      hook(dropped)
