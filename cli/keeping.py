"""Writes the policy of a run into its directory."""

import pathlib
import shlex
import sys

from cli import settings as settings_lib
from run_files import screen

POLICY = 'policy'


def keep_policy(run_dir: pathlib.Path, settings: settings_lib.Settings) -> bool:
  """Writes the policy in a run's newest checkpoint, or prints why it cannot.

  Args:
    run_dir: the run's directory.
    settings: the flags' values that describe the run.

  Returns:
    Whether the policy was written.
  """
  from policies import export

  path = run_dir / POLICY
  try:
    export.export_newest(settings.make_experiment(run_dir), path)
  except Exception as e:
    screen.show(
      f'launch.py: the policy of {run_dir} could not be kept: '
      f'{type(e).__name__}: {e}\n'
      f'To try again: python launch.py export {shlex.quote(str(run_dir))}',
      file=sys.stderr,
    )
    return False
  screen.show(f'{"policy":<15}{path}')
  return True
