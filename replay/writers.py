"""The writers with which adders insert items into replay."""

import reverb

# As in Acme's adders. A new writer asks the server for the tables' signatures,
# and the server may not be up yet.
_SIGNATURE_TIMEOUT_MS = 300_000


def make(client: reverb.Client) -> reverb.TrajectoryWriter:
  """Returns a writer whose chunks have one step; it waits for the server."""
  return client.trajectory_writer(
    1, get_signature_timeout_ms=_SIGNATURE_TIMEOUT_MS
  )
