"""The variable server: a Reverb server that holds the newest weights."""

from collections.abc import Callable, Sequence
from typing import Any

import launchpad as lp
import reverb
from launchpad import address as lp_address
from launchpad.nodes import base

import container
from nodes import worker


class VariableServerHandle(base.Handle[container.ReverbVariableContainer]):
  """Dereferences to a `container.ReverbVariableContainer` of the node."""

  def __init__(self, address: lp.Address, container_kwargs: dict[str, Any]):
    self._address = address
    self._container_kwargs = container_kwargs

  def dereference(self) -> container.ReverbVariableContainer:
    return container.ReverbVariableContainer(
      self._address.resolve(), **self._container_kwargs
    )


class VariableServerNode(lp.ReverbNode):
  """A Reverb server for variables, its clients being variable containers."""

  def __init__(
    self,
    make_tables: Callable[[], Sequence[reverb.Table]],
    **container_kwargs: Any,
  ):
    """Describes the server; nothing starts before the launch.

    Args:
      make_tables: called in the server's process; returns tables as made by
        `container.variable_table`.
      **container_kwargs: passed to each client's `ReverbVariableContainer`.
    """
    super().__init__(make_tables)
    self._make_tables = make_tables
    self._container_kwargs = container_kwargs

  def run(self) -> None:
    """Serves until the program stops."""
    port = lp_address.get_port_from_address(self.reverb_address.resolve())
    # It waits for whoever waits for a first value.
    worker.keep(reverb.Server(worker.make(self._make_tables), port))
    lp.wait_for_stop()

  def create_handle(self) -> VariableServerHandle:
    return self._track_handle(
      VariableServerHandle(self.reverb_address, self._container_kwargs)
    )
