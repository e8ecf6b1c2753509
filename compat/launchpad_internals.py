"""The private parts of dm-launchpad 0.5.0 that this program uses.

Each docstring says for what Launchpad has no public way.
"""

from typing import Any

import launchpad as lp
from launchpad.launch import worker_manager


def find_worker_manager() -> worker_manager.WorkerManager | None:
  """Returns the worker manager of this thread, or None.

  `worker_manager.get_worker_manager` raises an error if there is none, as in
  the launcher's process.
  """
  return getattr(worker_manager._WORKER_MANAGERS, 'manager', None)


def set_worker_manager(manager: worker_manager.WorkerManager | None) -> None:
  """Sets this thread's worker manager, which `lp.wait_for_stop` uses.

  Launchpad keeps one for each thread, but sets it only in the threads that
  Launchpad itself starts.

  Args:
    manager: the node's worker manager, or None to remove it again.
  """
  worker_manager._WORKER_MANAGERS.manager = manager


class CourierNode(lp.CourierNode):
  """A Courier node whose subclasses can override how its object is made.

  `lp.CourierNode.run` calls the private method `_construct_instance`. It
  connects to the servers of the node's handles, and makes the object to serve.
  """

  def construct_instance(self) -> Any:
    """Dereferences the node's handles; returns the object to serve."""
    return super()._construct_instance()

  def _construct_instance(self) -> Any:
    return self.construct_instance()
