"""What a container counts."""

import dataclasses


@dataclasses.dataclass
class ContainerMetrics:
  """Counts, bytes and seconds, each since the container was made.

  Attributes:
    pushes: How many times values were pushed.
    push_bytes: Bytes of the arrays that were pushed.
    push_seconds: Seconds that the pushes took.
    wire_bytes_sent: Bytes that went to the server, headers included.
    pulls: How many times values were handed to the caller.
    pull_bytes: Bytes of the arrays that were handed to the caller.
    pull_seconds: Seconds that handing them out took.
    wire_bytes_received: Bytes of the arrays that came from the server.
    checks: How many times the server was asked what is newest.
    cache_hits: How many times the host cache had a newer version.
    cache_fallbacks: How many times the host cache could not be used.
    versions_skipped: How many versions were replaced before they were read.
  """

  pushes: float = 0.0
  push_bytes: float = 0.0
  push_seconds: float = 0.0
  wire_bytes_sent: float = 0.0
  pulls: float = 0.0
  pull_bytes: float = 0.0
  pull_seconds: float = 0.0
  wire_bytes_received: float = 0.0
  checks: float = 0.0
  cache_hits: float = 0.0
  cache_fallbacks: float = 0.0
  versions_skipped: float = 0.0
