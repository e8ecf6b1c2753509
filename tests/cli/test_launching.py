"""What is refused, by the flags, before a program begins."""

import dataclasses
import pathlib

import pytest

from backends import api, registry
from backends.process import port_guard
from backends.slurm import job
from backends.supervision import config

_DRY = registry.Choice('slurm', dry_run=True)
_RUN_DIR = pathlib.Path('/runs/one')


def _check(choice):
  registry.make(choice).check(_RUN_DIR, choice.dry_run)


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'launch_type': 'local_mp'}, '--lp_launch_type=local_mp exclude'),
    ({'backend': 'local'}, '--dry_run needs --backend=slurm or --backend=kub'),
    (
      {
        'backend': 'local',
        'dry_run': False,
        'own_flags': {'slurm': 'time=1'},
      },
      '--slurm needs --backend=slurm',
    ),
    ({'resources': 'learner:gpus=1'}, "--resources: learner: .*'gpu'"),
    (
      {'own_flags': {'slurm': 'output=x'}},
      '--slurm: output cannot be set here',
    ),
    (
      {'own_flags': {'refuse_open_ports': True}},
      '--refuse_open_ports needs --backend=local',
    ),
    (
      {'own_flags': {'kubernetes': 'image=x'}},
      '--kubernetes needs --backend=kubernetes',
    ),
    (
      {'backend': 'kubernetes', 'own_flags': {'slurm': 'time=1'}},
      '--slurm needs --backend=slurm',
    ),
    (
      {'backend': 'kubernetes', 'launch_type': 'local_mp'},
      '--backend=kubernetes and --lp_launch_type=local_mp exclude',
    ),
    ({'backend': 'kubernetes'}, '--kubernetes: image is missing'),
    (
      {'backend': 'kubernetes', 'own_flags': {'kubernetes': 'imag=x'}},
      "--kubernetes: there is no 'imag'; the nearest is 'image'",
    ),
    (
      {
        'backend': 'local',
        'launch_type': 'local_mp',
        'dry_run': False,
        'resources': 'learner:cpu=1',
      },
      '--resources: --lp_launch_type=local_mp cannot limit resources',
    ),
  ],
)
def test_what_does_not_go_together_is_refused(changes, message):
  with pytest.raises(api.RefusedError, match=message):
    _check(dataclasses.replace(_DRY, **changes))


def test_without_slurm_a_job_is_refused(monkeypatch):
  monkeypatch.setenv('PATH', '/nowhere')
  _check(_DRY)
  with pytest.raises(api.RefusedError, match='this machine has no sbatch'):
    _check(dataclasses.replace(_DRY, dry_run=False))
  with pytest.raises(job.SlurmError, match='this machine has no squeue'):
    job.state('1')


def test_without_kubectl_a_job_set_is_refused(monkeypatch):
  monkeypatch.setenv('PATH', '/nowhere')
  options = {'kubernetes': 'image=x,volume=c:/runs'}
  choice = registry.Choice('kubernetes', dry_run=True, own_flags=options)
  _check(choice)
  with pytest.raises(api.RefusedError, match='this machine has no kubectl'):
    _check(dataclasses.replace(choice, dry_run=False))


def test_open_ports_are_refused_in_one_sentence(monkeypatch):
  def refuse():
    raise PermissionError('not permitted')

  monkeypatch.setattr(port_guard, 'check', refuse)
  backend = registry.make(
    registry.Choice(own_flags={'refuse_open_ports': True})
  )
  with pytest.raises(
    api.RefusedError, match='--refuse_open_ports: the run did not begin'
  ):
    backend.run(None, config=config.RunConfig(), on_line=print)
