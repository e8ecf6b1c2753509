"""The private parts of dm-launchpad 0.5.0 that this program opens.

Each function says what Launchpad offers no public way for.
"""

from typing import Any

import launchpad as lp
from launchpad.launch import worker_manager


def find_worker_manager() -> worker_manager.WorkerManager | None:
  """Returns the worker manager of this thread, or None.

  `worker_manager.get_worker_manager` raises where there is none, as in the
  launcher's process.
  """
  return getattr(worker_manager._WORKER_MANAGERS, 'manager', None)


def set_worker_manager(manager: worker_manager.WorkerManager | None) -> None:
  """Gives this thread a worker manager, which `lp.wait_for_stop` asks.

  Launchpad keeps one by thread, and gives it to the threads alone that it
  starts itself.

  Args:
    manager: the node's worker manager, or None to take it away again.
  """
  worker_manager._WORKER_MANAGERS.manager = manager


class CourierNode(lp.CourierNode):
  """A Courier node that lets a subclass run something around its making.

  `lp.CourierNode.run` makes the object to serve, and connects to its servers
  meanwhile, in `_construct_instance`.
  """

  def construct_instance(self) -> Any:
    """Dereferences the node's handles; returns the object to serve."""
    return super()._construct_instance()

  def _construct_instance(self) -> Any:
    return self.construct_instance()
