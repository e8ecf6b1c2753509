"""Trains an agent as one distributed program, or does what a verb says.

python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
python launch.py status runs/x
python launch.py --help

`cli/command.py` lists the verbs, and each is a file in `cli/verbs/`. The flags
of training are in `cli/training_flags.py`.
"""

import sys

from system import stops, streams
from tools import check


def main() -> None:
  """Does what the command line asks for, and exits with its code."""
  stops.begin()
  streams.begin()
  if sys.argv[1:] == ['doctor']:
    # It comes first, since it must run even if packages cannot be imported.
    from tools import doctor

    stops.leave(doctor.main())
  check.check()
  # Imported after `stops.begin`, so that Ctrl-C ends these slow imports.
  from absl import app

  from cli import command

  try:
    app.run(command.run, flags_parser=command.parse)
  except SystemExit as e:
    stops.leave(stops.exit_code(e))


if __name__ == '__main__':
  main()
