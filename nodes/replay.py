"""The replay server: where actors insert and the learner samples."""

from collections.abc import Callable, Sequence

import launchpad as lp
import reverb


def replay_node(
  make_tables: Callable[[], Sequence[reverb.Table]],
) -> lp.ReverbNode:
  """A node whose handle dereferences to a `reverb.Client`.

  Args:
    make_tables: called in the server's process; returns the replay tables.
  """
  return lp.ReverbNode(make_tables)
