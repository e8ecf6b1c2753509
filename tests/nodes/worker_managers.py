"""A worker manager for tests, so that a thread looks like a node's thread."""

import contextlib
import threading

from compat import launchpad_internals

from launchpad import context


class WorkerManager:
  """The part of Launchpad's worker manager that a node uses."""

  def __init__(self):
    self._stop = threading.Event()

  def stop(self):
    self._stop.set()

  def wait_for_stop(self, timeout_secs=None):
    return self._stop.wait(timeout_secs)


@contextlib.contextmanager
def in_this_thread():
  """Sets the manager and launch context of this thread; yields the manager."""
  manager = WorkerManager()
  launchpad_internals.set_worker_manager(manager)
  context.set_context(context.LaunchContext())
  yield manager
  launchpad_internals.set_worker_manager(None)
