"""Runs a role's loop so that a stop always gets through to it.

Every role needs this, so it has a file of its own. A loop that waits inside C++
(a full replay, a server that is gone) runs no Python signal handler. Here the
loop has a thread of its own, and the node's thread stays free to act on a stop.
"""

import contextlib
import ctypes
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import compat  # noqa: F401

import launchpad as lp
from absl import logging
from acme import core
from launchpad import context
from launchpad.launch import worker_manager

_POLL_SECONDS = 0.2


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
    manager = getattr(worker_manager._WORKER_MANAGERS, 'manager', None)
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
      on_stop: called ahead of an interruption, to end a wait of the worker's
        that none gets through to; `StopIteration` then is no failure.
      stop_seconds: how long an interrupted worker may take to end.
      linger_seconds: how long a stopped worker may go on before it is
        interrupted.
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
        self._interrupt(loop)
        if isinstance(loop.error, StopIteration):
          loop.error = None
    finally:
      # What a loop that was left meets in closed clients is no failure.
      error = loop.error
      close_error = self._close_all()
    if error is not None:
      raise error
    if close_error is not None:
      raise close_error

  def _interrupt(self, loop: '_LoopThread') -> None:
    loop.join(self._linger_seconds)
    self._on_stop()
    deadline = time.monotonic() + self._stop_seconds
    while loop.is_alive() and time.monotonic() < deadline:
      loop.raise_system_exit()
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
  """A thread that keeps the exception its target raised."""

  def __init__(self, target: Callable[[], None]):
    super().__init__(daemon=True, name='loop')
    self._loop = target
    # Launchpad keeps both by thread.
    self._context = context.get_context()
    self._manager = worker_manager.get_worker_manager()
    self.error: BaseException | None = None
    self.start()

  def run(self) -> None:
    context.set_context(self._context)
    worker_manager._WORKER_MANAGERS.manager = self._manager
    try:
      with exits_fail():
        self._loop()
    except SystemExit:
      pass
    except BaseException as e:
      self.error = e

  def raise_system_exit(self) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
      ctypes.c_ulong(self.ident), ctypes.py_object(SystemExit)
    )
