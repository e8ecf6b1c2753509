"""The replay server: where actors insert and the learner samples."""

import dataclasses
from collections.abc import Callable, Sequence

import launchpad as lp
import reverb
from launchpad import address as lp_address
from reverb.platform import checkpointers_lib

from nodes import worker
from run_files import patience


@dataclasses.dataclass(frozen=True)
class ReplayCheckpointing:
  """How replay is kept over a restart.

  Attributes:
    directory: where. A server that starts goes on from the newest whole
      checkpoint there; the tables' configuration comes from it as well.
    every_seconds: between two checkpoints. While one is written, inserts wait.
  """

  directory: str
  every_seconds: float


class ReplayNode(lp.ReverbNode):
  """A node whose handle dereferences to a `reverb.Client`."""

  def __init__(
    self,
    make_tables: Callable[[], Sequence[reverb.Table]],
    checkpointing: ReplayCheckpointing | None = None,
  ):
    """Describes the server; nothing starts before the launch.

    Args:
      make_tables: called in the server's process; returns the replay tables.
      checkpointing: how they are kept; None begins empty at every start.
    """
    super().__init__(make_tables)
    self._make_tables = make_tables
    self._checkpointing = checkpointing

  def run(self) -> None:
    """Serves until the program stops."""
    port = lp_address.get_port_from_address(self.reverb_address.resolve())
    keep = self._checkpointing
    server = reverb.Server(
      worker.make(self._make_tables),
      port,
      keep and checkpointers_lib.DefaultCheckpointer(keep.directory),
    )
    # It waits for inserts that a rate limiter holds back, for ever.
    worker.keep(server)
    if keep is None:
      lp.wait_for_stop()
      return
    client = reverb.Client(f'localhost:{port}')
    kept = patience.Patience(
      f'the checkpoint of replay in {keep.directory}',
      'the run goes on, the one before is kept, and it is tried again',
    )
    is_last = False
    while not is_last:
      is_last = lp.wait_for_stop(keep.every_seconds)
      with kept.attempt():
        _checkpoint(client)


def _checkpoint(client: reverb.Client) -> None:
  try:
    client.checkpoint()
  except RuntimeError as e:
    # Of what Reverb's server could not write, it says no more.
    raise OSError(str(e)) from e
