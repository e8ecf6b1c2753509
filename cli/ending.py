"""What is said and kept of a run at its end."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator

from backends.supervision import config as config_lib
from cli import keeping, settings
from reporting import curve, profile, summary
from run_files import screen
from view import region


def end(
  run: settings.Settings, run_dir: pathlib.Path, result: config_lib.Result
) -> int:
  """Says what came of a run, and keeps figure and policy.

  Whatever of it fails, the rest comes all the same.

  Args:
    run: its settings.
    run_dir: its directory.
    result: how it ended.

  Returns:
    The exit code.
  """
  with _left_out_if_it_fails('learning_curve.png'):
    curve.write_learning_curve(run_dir)
  with _left_out_if_it_fails('the summary'):
    screen.show(summary.summarize(run_dir, result.wall_time))
  if result.cause is None and run.profile:
    with _left_out_if_it_fails('the profile'):
      screen.show(profile.page(run_dir))
  # Whoever interrupts a run waits for its end.
  if result.exit_code == 0 or (result.cause and result.cause.ends_run):
    keeping.keep_policy(run_dir, run)
  if result.cause is not None:
    cause = str(result.cause)
    if sys.stderr.isatty():
      cause = '\n'.join(map(region.clean, cause.splitlines()))
    # The last thing printed.
    print(cause, file=sys.stderr, flush=True)
  return result.exit_code


@contextlib.contextmanager
def _left_out_if_it_fails(what: str) -> Iterator[None]:
  try:
    yield
  except Exception as e:
    screen.show(
      f'launch.py: {what} cannot be had: {type(e).__name__}: {e}',
      file=sys.stderr,
    )
