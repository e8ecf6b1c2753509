"""Trains an agent as one distributed program; verbs do the rest.

python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
python launch.py status runs/x
python launch.py --help

`cli/command.py` lists the verbs, each a file in `cli/verbs/`; the flags of
training are in `cli/training_flags.py`.
"""

import sys

from system import stops, streams
from tools import check


def main() -> None:
  """Does what the command line asks for, and exits with its code."""
  stops.begin()
  streams.begin()
  if sys.argv[1:] == ['doctor']:
    # It says what is wrong with an installation that nothing else can use.
    from tools import doctor

    stops.leave(doctor.main())
  check.check()
  # Only now: imports take long, and may be interrupted.
  from absl import app

  from cli import command

  try:
    app.run(command.run, flags_parser=command.parse)
  except SystemExit as e:
    stops.leave(stops.exit_code(e))


if __name__ == '__main__':
  main()
