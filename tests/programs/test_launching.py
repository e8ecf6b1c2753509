"""Where a program runs, by the flags."""

import dataclasses

import pytest

from backends import slurm_job, slurm_script
from programs import launching, settings, submitting

_SETTINGS = settings.Settings(
  agent='sac',
  env='gym:Pendulum-v1',
  config='',
  seed=0,
  num_actors=3,
  envs_per_actor=1,
  num_steps=100,
  program='distributed',
  demonstrations=None,
  record=False,
  evaluations='3s',
  checkpoint_every=30.0,
  checkpoint_replay=False,
  profile=False,
)
_DRY = launching.Place('slurm', 'local', '', '', '', dry_run=True)


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'launch_type': 'local_mp'}, '--lp_launch_type=local_mp exclude'),
    ({'backend': 'local'}, '--dry_run needs --backend=slurm'),
    (
      {'backend': 'local', 'dry_run': False, 'slurm': 'time=1'},
      '--slurm needs --backend=slurm',
    ),
    ({'resources': 'learner:gpus=1'}, "--resources: learner: .*'gpu'"),
    ({'slurm': 'output=x'}, '--slurm: output is not to be set'),
  ],
)
def test_what_does_not_go_together_is_refused(changes, message):
  with pytest.raises(settings.WrongUsage, match=message):
    dataclasses.replace(_DRY, **changes).check()


def test_without_slurm_a_job_is_refused(monkeypatch):
  monkeypatch.setenv('PATH', '/nowhere')
  _DRY.check()
  with pytest.raises(settings.WrongUsage, match='sbatch is not there'):
    dataclasses.replace(_DRY, dry_run=False).check()
  with pytest.raises(slurm_job.SlurmError, match='this machine has no Slurm'):
    slurm_job.state('1')


def test_a_dry_run_prints_the_script_and_leaves_nothing(tmp_path, capsys):
  place = dataclasses.replace(_DRY, resources='learner:gpu=1,cpu=4')
  assert submitting.submit(_SETTINGS, tmp_path / 'run', place) == 0
  script = capsys.readouterr().out
  assert script.startswith('#!/bin/bash\n# learner/0\n')
  assert script.count('#SBATCH hetjob') == 1
  assert '#SBATCH --ntasks=7\n' in script
  assert f'--run_dir={tmp_path}/run --resume\n' in script
  assert slurm_script.PLAN in script
  assert not (tmp_path / 'run').exists()


def test_resources_of_an_unknown_role_are_refused(tmp_path):
  place = dataclasses.replace(_DRY, resources='actors:cpu=2')
  with pytest.raises(settings.WrongUsage, match="--resources: .*'actors'"):
    submitting.submit(_SETTINGS, tmp_path / 'run', place)


def test_a_run_dir_that_breaks_the_script_is_refused(tmp_path):
  run_dir = tmp_path / 'a\nb'
  with pytest.raises(settings.WrongUsage, match='--run_dir: .* line break'):
    submitting.submit(_SETTINGS, run_dir, _DRY)
  assert not run_dir.exists()
