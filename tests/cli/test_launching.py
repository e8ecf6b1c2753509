"""Where a program runs, by the flags."""

import dataclasses

import pytest

from backends.process import port_guard
from backends.slurm import job
from backends.supervision import config
from cli import launching, settings

_DRY = launching.Place(
  'slurm', 'local', '', '', '', dry_run=True, ray_address=''
)


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'launch_type': 'local_mp'}, '--lp_launch_type=local_mp exclude'),
    ({'backend': 'local'}, '--dry_run needs --backend=slurm or --backend=kub'),
    (
      {'backend': 'local', 'dry_run': False, 'slurm': 'time=1'},
      '--slurm needs --backend=slurm',
    ),
    ({'resources': 'learner:gpus=1'}, "--resources: learner: .*'gpu'"),
    ({'slurm': 'output=x'}, '--slurm: output is not to be set'),
    (
      {'refuse_open_ports': True},
      '--refuse_open_ports: only for runs on this machine',
    ),
    ({'kubernetes': 'image=x'}, '--kubernetes needs --backend=kubernetes'),
    (
      {'backend': 'kubernetes', 'slurm': 'time=1'},
      '--slurm needs --backend=slurm',
    ),
    (
      {'backend': 'kubernetes', 'launch_type': 'local_mp'},
      '--backend=kubernetes and --lp_launch_type=local_mp exclude',
    ),
    ({'backend': 'kubernetes'}, '--kubernetes: image is missing'),
    (
      {'backend': 'kubernetes', 'kubernetes': 'imag=x'},
      "--kubernetes: there is no 'imag'; the nearest is 'image'",
    ),
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
  with pytest.raises(job.SlurmError, match='this machine has no Slurm'):
    job.state('1')


def test_without_kubectl_a_job_set_is_refused(monkeypatch):
  monkeypatch.setenv('PATH', '/nowhere')
  place = dataclasses.replace(
    _DRY, backend='kubernetes', kubernetes='image=x,volume=c:/runs'
  )
  place.check()
  with pytest.raises(settings.WrongUsage, match='kubectl is not there'):
    dataclasses.replace(place, dry_run=False).check()


def test_open_ports_are_refused_in_one_sentence(monkeypatch):
  def refuse():
    raise PermissionError('not permitted')

  monkeypatch.setattr(port_guard, 'check', refuse)
  here = dataclasses.replace(_DRY, backend='local', refuse_open_ports=True)
  with pytest.raises(
    settings.WrongUsage, match='--refuse_open_ports: the run did not begin'
  ):
    launching._run_here(
      here, None, None, config=config.RunConfig(), on_line=print
    )
