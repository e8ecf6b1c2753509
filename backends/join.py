"""An agent that goes to its launcher by itself, wherever it was started.

python -m backends.join HOST:PORT NODE KEY_FILE

It waits for the launcher. It exits with 0 once the run has ended or needs it no
more, and with 1 if the launcher is gone: then it may be started again.
"""

import pathlib
import sys

from backends import agent, door

_LAUNCHER_SECS = 600.0


def main() -> int:
  """Entry; returns the exit code."""
  address, node, key_path = sys.argv[-3:]
  agent.ignore_signals()
  try:
    key = pathlib.Path(key_path).read_bytes()
    link = door.join(address, key, node, _LAUNCHER_SECS)
  except OSError as e:
    print(e, file=sys.stderr)
    return 1
  return 0 if agent.work(link.stream) else 1


if __name__ == '__main__':
  sys.exit(main())
