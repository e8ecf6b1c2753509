"""A run's policy that cannot be kept."""

import shlex

from cli import keeping
from tests.programs import samples


def test_a_policy_that_could_not_be_kept_can_be_exported(tmp_path, capsys):
  run_dir = tmp_path / "x y's"
  assert not keeping.keep_policy(run_dir, samples.SETTINGS)
  error = capsys.readouterr().err
  assert 'no checkpoint' in error
  _, command = error.split('To try again: ')
  assert shlex.split(command)[-2:] == ['export', str(run_dir)]
