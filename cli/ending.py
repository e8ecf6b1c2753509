"""The end of a run: its figure, summary, policy, and the cause of a failure."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator

from backends.supervision import result as result_lib
from cli import keeping
from cli import settings as settings_lib
from reporting import curve, profile, summary
from run_files import screen
from view import region


def end(
  settings: settings_lib.Settings,
  run_dir: pathlib.Path,
  result: result_lib.Result,
) -> int:
  """Writes a run's figure and policy, and prints its summary.

  If one of these fails, the others come all the same.

  Args:
    settings: the flags' values that describe the run.
    run_dir: the run directory's absolute path.
    result: how the run ended.

  Returns:
    The exit code.
  """
  with _left_out_if_it_fails('learning_curve.png'):
    curve.write_learning_curve(run_dir)
  with _left_out_if_it_fails('the summary'):
    screen.show(summary.summarize(run_dir, result.wall_time))
  if result.cause is None and settings.profile:
    with _left_out_if_it_fails('the profile'):
      screen.show(profile.page(run_dir))
  # A person who interrupts a run waits for its end, and gets no policy.
  if result.exit_code == 0 or (result.cause and result.cause.ends_run):
    keeping.keep_policy(run_dir, settings)
  if result.cause is not None:
    cause = str(result.cause)
    if sys.stderr.isatty():
      cause = '\n'.join(map(region.clean, cause.splitlines()))
    # It is the last thing printed, where a person looks first.
    print(cause, file=sys.stderr, flush=True)
  return result.exit_code


@contextlib.contextmanager
def _left_out_if_it_fails(what: str) -> Iterator[None]:
  """Turns an error in the body of the `with` into a sentence about `what`."""
  try:
    yield
  except Exception as e:
    screen.show(
      f'launch.py: {what} cannot be had: {type(e).__name__}: {e}',
      file=sys.stderr,
    )
