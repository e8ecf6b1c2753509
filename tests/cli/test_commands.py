"""Commands about runs that are there."""

import shlex

from cli import commands, settings

_SETTINGS = {
  'agent': 'sac',
  'env': 'gym:Pendulum-v1',
  'config': '',
  'seed': 0,
  'num_actors': 1,
  'envs_per_actor': 1,
  'num_steps': 100,
  'program': 'distributed',
  'demonstrations': None,
  'record': False,
  'evaluations': '3s',
  'checkpoint_every': 30.0,
  'checkpoint_replay': False,
  'profile': False,
}


def test_a_policy_that_is_not_kept_is_to_be_had_by_the_command(
  tmp_path, capsys
):
  run_dir = tmp_path / "x y's"
  assert not commands.keep_policy(run_dir, settings.Settings(**_SETTINGS))
  error = capsys.readouterr().err
  assert 'no checkpoint' in error
  _, command = error.split('To try again: ')
  assert shlex.split(command)[-2:] == ['--export', f'--run_dir={run_dir}']
