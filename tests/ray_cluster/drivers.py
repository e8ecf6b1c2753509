"""A driver of Ray that tests start as a process of its own.

python -m tests.ray_cluster.drivers ADDRESS LOG_DIR CPUS ANSWER_SECS
"""

from system import stops

if __name__ == '__main__':
  stops.begin()

import sys

import launchpad as lp

from backends import resources as resources_lib
from backends.local import this_machine
from backends.ray import driver, placement
from tests import helpers


def main() -> int:
  address, log_dir, cpus, answer_secs = sys.argv[1:]
  driver._ANSWER_SECS = float(answer_secs)
  try:
    return placement.run(
      helpers.program(worker=lambda: lp.wait_for_stop()),
      address=address,
      resources={'worker': resources_lib.Resources(cpu=int(cpus))},
      config=this_machine.RunConfig(log_dir=log_dir),
    ).exit_code
  except driver.NoClusterError as e:
    print(e, file=sys.stderr)
    return 2


if __name__ == '__main__':
  stops.leave(main())
