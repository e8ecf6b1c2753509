"""Small programs in a job of their own: `-m tests.slurm.launchers NAME DIR`."""

import os
import pathlib
import sys

import launchpad as lp

from backends.local import this_machine
from backends.slurm import allocation
from tests import helpers


def crash(directory: pathlib.Path):
  """One task fails while another is noisy on the other node."""

  def fail():
    helpers.wait_until((directory / 'noisy').exists, 'the noisy task')
    raise ValueError('the very first cause')

  def noisy():
    while not lp.wait_for_stop(0.01):
      (directory / 'noisy').touch()
      print('noise')

  return helpers.program(fail=fail, noisy=noisy)


def lasting(directory: pathlib.Path):
  """Writes which start it is in when it stops; the third start is the last."""
  start = os.environ.get('SLURM_RESTART_COUNT', '0')

  def save():
    print(f'start {start} with GPU {os.environ["CUDA_VISIBLE_DEVICES"]}')
    (directory / f'up-{start}').touch()
    if start == '2':
      lp.stop()
    lp.wait_for_stop()
    (directory / f'saved-{start}').touch()

  return helpers.program(save=save, other=lambda: lp.wait_for_stop())


def main() -> int:
  directory = pathlib.Path(sys.argv[2])
  config = this_machine.RunConfig(log_dir=str(directory))
  result = allocation.run(globals()[sys.argv[1]](directory), config=config)
  if result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result.exit_code


if __name__ == '__main__':
  sys.exit(main())
