"""The command by which an engine starts a daemon that connects to its launcher.

python -m backends.cluster.join HOST:PORT NODE KEY_FILE

The daemon waits for the launcher. It exits with 0 once the run has ended or no
longer needs the node, and with 1 if the launcher is gone: then the engine may
start it again. While it waits, a signal ends it. Later it ignores signals,
because the launcher handles them.
"""

from system import stops

if __name__ == '__main__':
  # The imports below take seconds, and the first process of a container ignores
  # signals that it has no handler for.
  stops.begin()

import pathlib
import sys

from backends.cluster import door, node_daemon

_LAUNCHER_SECS = 600.0


def main() -> int:
  """Entry; returns the exit code."""
  stops.begin()
  address, node, key_path = sys.argv[-3:]
  try:
    key = pathlib.Path(key_path).read_bytes()
    link = door.join(address, key, node, _LAUNCHER_SECS)
  except OSError as e:
    print(e, file=sys.stderr)
    return 1
  node_daemon.ignore_signals()
  return 0 if node_daemon.work(link.stream) else 1


if __name__ == '__main__':
  sys.exit(main())
