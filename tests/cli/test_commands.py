"""Commands about runs that are there."""

import shlex

import pytest

from backends.cluster import links
from cli import commands, scale, settings, stopping
from run_files import run_dir as run_dir_lib
from run_files import status
from tests import helpers
from tests.run_files import statuses

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


def test_stop_ends_a_run_in_order_and_waits_for_its_report(tmp_path):
  log_dir = tmp_path / 'logs'
  log_dir.mkdir()
  with helpers.launcher('reporting', log_dir) as launcher:
    for name in ('server', 'learner', 'actor'):
      launcher.wait_for_file(f'{name}.up')
    assert stopping.stop(str(tmp_path)) == 0
    assert (log_dir / 'server.down').exists()
    assert (log_dir / 'report').exists()
    code, _, _ = launcher.end()
  assert code == 143
  with pytest.raises(settings.WrongUsage, match='no run goes on'):
    stopping.stop(str(tmp_path))


def _keep_status_of_one_that_has_ended(run_dir):
  ended = statuses.launcher(
    state='ended', exit_code=0, process_start='long ago'
  )
  (run_dir / 'logs').mkdir()
  status.write(str(run_dir / 'logs'), ended, [])


@pytest.mark.parametrize('is_resumed', [False, True])
@pytest.mark.parametrize('on_kubernetes', [False, True])
def test_a_run_that_only_begins_is_said_to(
  tmp_path, monkeypatch, capsys, is_resumed, on_kubernetes
):
  if is_resumed:
    _keep_status_of_one_that_has_ended(tmp_path)
  if on_kubernetes:
    monkeypatch.setenv(links.LISTEN, '7700')
  else:
    run_dir_lib.take(tmp_path)
  assert commands.show_status(str(tmp_path)) == 0
  assert 'starting' in capsys.readouterr().out
  with pytest.raises(settings.WrongUsage, match='only begins'):
    stopping.stop(str(tmp_path))
  with pytest.raises(settings.WrongUsage, match='only begins'):
    scale.scale(str(tmp_path), 'actor:2')


def test_a_run_that_writes_what_came_of_it_has_begun(tmp_path, capsys):
  run_dir_lib.take(tmp_path)
  (tmp_path / 'logs').mkdir()
  ended = statuses.launcher(state='ended', exit_code=0)
  status.write(str(tmp_path / 'logs'), ended, [])
  assert commands.show_status(str(tmp_path)) == 0
  assert 'ended with exit code 0' in capsys.readouterr().out


def test_a_policy_that_is_not_kept_is_to_be_had_by_the_command(
  tmp_path, capsys
):
  run_dir = tmp_path / "x y's"
  assert not commands.keep_policy(run_dir, settings.Settings(**_SETTINGS))
  error = capsys.readouterr().err
  assert 'no checkpoint' in error
  _, command = error.split('To try again: ')
  assert shlex.split(command)[-2:] == ['--export', f'--run_dir={run_dir}']
