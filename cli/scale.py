"""More or fewer actors while a run goes on: `launch.py --scale`."""

import pathlib
import sys
import time

from backends.supervision import scaling
from cli import commands
from cli.settings import WrongUsage
from run_files import screen, status

# A cluster may wait five minutes for room.
_SECONDS = 360.0 + scaling.SETTLE_SECS


def scale(run_dir: str | None, text: str) -> int:
  """Has a run go on with another number of actors; returns when it does.

  Args:
    run_dir: of the run.
    text: such as `actor:8`.

  Raises:
    WrongUsage: there is no such run that goes on, or no such number.
  """
  role, _, number = text.partition(':')
  if role != 'actor' or not number.isdecimal() or not int(number):
    raise WrongUsage(
      f'--scale: only actors can be more or fewer, at least one, as in '
      f'actor:8; got {text!r}'
    )
  if not run_dir:
    raise WrongUsage('--scale: say which run with --run_dir')
  path = pathlib.Path(run_dir).absolute()
  if commands.job(path)[1] is not None:
    raise WrongUsage(
      f'--scale: the run in {path} is a job of Slurm, whose size is fixed; '
      '--stop it, and submit it again with --resume and --num_actors'
    )
  log_dir = str(path / 'logs')
  launcher = status.living(log_dir)
  if launcher is None and commands.begins(path):
    raise WrongUsage(f'--scale: the run in {path} only begins; try again soon')
  if launcher is None:
    raise WrongUsage(f'--scale: no run goes on in {path}')
  answer = _ask(log_dir, role, int(number))
  if answer:
    screen.show(f'launch.py: --scale: {answer}', file=sys.stderr)
    return 1
  screen.show(f'{"actors":<15}{number}')
  return 0


def _ask(log_dir: str, role: str, count: int) -> str:
  """Has it done; returns what went wrong, or nothing once the tasks run."""
  key = scaling.request(log_dir, role, count)
  deadline = time.monotonic() + _SECONDS
  try:
    while (answer := scaling.answer(log_dir, key)) is None:
      if status.living(log_dir) is None or time.monotonic() > deadline:
        return f'the run has not done it; {log_dir}/launcher.log may say why'
      time.sleep(0.2)
    return answer
  finally:
    scaling.withdraw(log_dir, key)
