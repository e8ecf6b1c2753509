"""The replay server: actors insert into it and the learner samples from it."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import launchpad as lp
import reverb
import tree
from launchpad import address as lp_address
from reverb.platform import checkpointers_lib

from nodes import worker
from nodes.saving import saved_state
from replay import batch_server
from run_files import patience

_INFO_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class ReplayCheckpointing:
  """How replay is saved, so that it survives a restart.

  Attributes:
    directory: the folder of the checkpoints. When the server starts, it loads
      the newest complete checkpoint: the items, and the tables' configuration.
    every_seconds: seconds between two checkpoints. Inserts wait while a
      checkpoint is written.
  """

  directory: str
  every_seconds: float


class ReplayNode(lp.ReverbNode):
  """A node whose handle dereferences to a `reverb.Client`."""

  def __init__(
    self,
    make_tables: Callable[..., Sequence[reverb.Table]],
    *args: Any,
    checkpointing: ReplayCheckpointing | None = None,
  ):
    """Describes the server; nothing starts before the launch.

    Args:
      make_tables: called in the server's process; returns the replay tables.
      *args: the arguments of `make_tables`.
      checkpointing: how the tables are saved. With None nothing is saved, and
        the tables are empty at every start.
    """
    self._make_tables = functools.partial(make_tables, *args)
    super().__init__(self._make_tables)
    self._checkpointing = checkpointing

  def run(self) -> None:
    """Serves until the program stops."""
    address = self.reverb_address.resolve()
    port = lp_address.get_port_from_address(address)
    checkpointing = self._checkpointing
    tables = worker.make(self._make_tables)
    items = {table.info.name: _items(table.info) for table in tables}
    # A learner that finds the server looks for the batches, too.
    batch_server.serve(address, port)
    server = reverb.Server(
      tables,
      port,
      checkpointing
      and checkpointers_lib.DefaultCheckpointer(checkpointing.directory),
    )
    # The server's destructor would wait for ever for inserts that a rate
    # limiter holds back.
    worker.keep(server)
    if checkpointing is None:
      lp.wait_for_stop()
      return
    client = reverb.Client(f'localhost:{port}')
    _check_items(client, items, checkpointing.directory)
    attempts = patience.Patience(
      f'the checkpoint of replay in {checkpointing.directory}',
      'the run goes on, the last checkpoint is kept, and it is tried again',
    )
    is_last = False
    while not is_last:
      is_last = lp.wait_for_stop(checkpointing.every_seconds)
      with attempts.attempt():
        _checkpoint(client)


def _items(info: reverb.reverb_types.TableInfo) -> str:
  """Returns a text with the shapes and dtypes of a table's items."""
  specs = tree.flatten(() if info.signature is None else info.signature)
  return ', '.join(f'{spec.dtype.name}{spec.shape}' for spec in specs)


def _check_items(
  client: reverb.Client, items: Mapping[str, str], directory: str
) -> None:
  """Checks that the items of a checkpoint are those that actors now insert.

  Args:
    client: a client of the server, which has loaded the checkpoint if there
      was one. The checkpoint has the signatures of the tables, too.
    items: what `_items` returned for each table before that, by its name.
    directory: the folder of the checkpoints.

  Raises:
    saved_state.MismatchError: the items are others.
  """
  for name, info in client.server_info(_INFO_SECONDS).items():
    if _items(info) != items[name]:
      raise saved_state.MismatchError(
        f'the checkpoint of replay in {directory} is of another agent, or of '
        f'another version of this program: in its table {name!r} an item is '
        f'({_items(info)}), and now it would be ({items[name]}). Delete the '
        'folder: then the run goes on with an empty replay'
      )


def _checkpoint(client: reverb.Client) -> None:
  try:
    client.checkpoint()
  except RuntimeError as e:
    # Reverb gives no other reason for a failed write.
    raise OSError(str(e)) from e
