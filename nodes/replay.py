"""The replay server: where actors insert and the learner samples."""

from collections.abc import Callable, Sequence

import launchpad as lp
import reverb

# Servers that are to end with their process rather than by their destructor.
_stopped_servers: list[reverb.Server] = []


class ReplayNode(lp.ReverbNode):
  """A node whose handle dereferences to a `reverb.Client`."""

  def __init__(self, make_tables: Callable[[], Sequence[reverb.Table]]):
    """Describes the server; nothing starts before the launch.

    Args:
      make_tables: called in the server's process; returns the replay tables.
    """
    super().__init__(make_tables)

  def run(self) -> None:
    """Serves until the program stops."""
    super().run()
    # Reverb's destructor waits for inserts that a rate limiter holds back, for
    # ever once nobody samples any more.
    _stopped_servers.append(self._server)
