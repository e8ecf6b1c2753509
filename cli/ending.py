"""Ends a run: writes its figure and policy, prints its summary and error."""

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

  If one of these fails, the others are written or printed all the same.

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
  # After Ctrl-C no policy is written, since a person waits for the end.
  if result.exit_code == 0 or (result.cause and result.cause.ends_run):
    keeping.keep_policy(run_dir, settings)
  if result.cause is not None:
    cause = str(result.cause)
    if sys.stderr.isatty():
      cause = '\n'.join(map(region.clean, cause.splitlines()))
    # Printed last, since the last lines are what a person reads first.
    print(cause, file=sys.stderr, flush=True)
  return result.exit_code


@contextlib.contextmanager
def _left_out_if_it_fails(what: str) -> Iterator[None]:
  """Turns an error in the body of the `with` into a message about `what`."""
  try:
    yield
  except Exception as e:
    screen.show(
      f'launch.py: {what} could not be made: {type(e).__name__}: {e}',
      file=sys.stderr,
    )
