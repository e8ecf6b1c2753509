"""The variable server: a Reverb server that holds the newest weights."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import launchpad as lp
import reverb
from launchpad import address as lp_address
from launchpad.nodes import base

import container
from nodes import worker


class VariableServerHandle(base.Handle[container.ReverbVariableContainer]):
  """Dereferences to a `container.ReverbVariableContainer` of the server."""

  def __init__(self, address: lp.Address, container_kwargs: dict[str, Any]):
    self._address = address
    self._container_kwargs = container_kwargs

  def dereference(self) -> container.ReverbVariableContainer:
    return container.ReverbVariableContainer(
      self._address.resolve(), **self._container_kwargs
    )


class VariableServerNode(lp.ReverbNode):
  """A Reverb server for variables; its clients are variable containers."""

  def __init__(
    self,
    make_tables: Callable[..., Sequence[reverb.Table]],
    *args: Any,
    **container_kwargs: Any,
  ):
    """Describes the server; nothing starts before the launch.

    Args:
      make_tables: called in the server's process; returns tables that
        `container.variable_table` made.
      *args: the arguments of `make_tables`.
      **container_kwargs: passed to each client's `ReverbVariableContainer`.
    """
    self._make_tables = functools.partial(make_tables, *args)
    super().__init__(self._make_tables)
    self._container_kwargs = container_kwargs

  def run(self) -> None:
    """Serves until the program stops."""
    port = lp_address.get_port_from_address(self.reverb_address.resolve())
    # The server's destructor would wait for clients that wait for a first
    # value.
    worker.keep(reverb.Server(worker.make(self._make_tables), port))
    lp.wait_for_stop()

  def create_handle(self) -> VariableServerHandle:
    return self._track_handle(
      VariableServerHandle(self.reverb_address, self._container_kwargs)
    )
