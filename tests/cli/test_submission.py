"""What is submitted to a cluster, and how its state is shown."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml

from backends import api, registry
from backends.slurm import script as slurm_script
from cli import launching, settings, watching
from cli.verbs import status, stop
from tests.backends.kubernetes import api_server
from tests.e2e import runs
from tests.programs import samples

_SLURM = registry.Choice('slurm', dry_run=True)
_OPTIONS = 'image=rl:1,volume=claim:/runs,namespace=rl'
_KUBERNETES = registry.Choice('kubernetes', own_flags={'kubernetes': _OPTIONS})
_NAMESPACE = registry.Choice(
  'kubernetes', own_flags={'kubernetes': 'namespace=rl'}
)
_WATCH = watching.Watch(60.0, quiet=False, sinks=())
_RUN_DIR = pathlib.Path('/runs/one')
_NAME = 'one-0436b6'


def _submit(choice=_KUBERNETES, run_dir=_RUN_DIR, **changes):
  run = dataclasses.replace(samples.SETTINGS, **changes)
  return launching.train(run, run_dir, choice, _WATCH, resume=False)


def test_a_dry_run_prints_the_script_and_leaves_nothing(tmp_path, capsys):
  choice = dataclasses.replace(_SLURM, resources='learner:gpu=1,cpu=4')
  assert _submit(choice, tmp_path / 'run') == 0
  script = capsys.readouterr().out
  assert script.startswith('#!/bin/bash\n# learner/0\n')
  assert script.count('#SBATCH hetjob') == 1
  assert '#SBATCH --ntasks=7\n' in script
  assert f'--run_dir={tmp_path}/run --resume\n' in script
  assert slurm_script.PLAN in script
  assert not (tmp_path / 'run').exists()


def test_resources_of_an_unknown_role_are_refused(tmp_path):
  choice = dataclasses.replace(_SLURM, resources='actors:cpu=2')
  with pytest.raises(settings.WrongUsage, match="--resources: .*'actors'"):
    _submit(choice, tmp_path / 'run')


def test_a_run_dir_that_breaks_the_script_is_refused(tmp_path):
  run_dir = tmp_path / 'a\nb'
  with pytest.raises(api.RefusedError, match='--run_dir: .* line break'):
    _submit(_SLURM, run_dir)
  assert not run_dir.exists()


@pytest.fixture
def server(tmp_path):
  with api_server.running(tmp_path) as running:
    yield running


def test_a_dry_run_prints_manifests_with_every_setting(capsys):
  choice = dataclasses.replace(
    _KUBERNETES, dry_run=True, resources='learner:gpu=1'
  )
  assert _submit(choice) == 0
  *_, job_set = yaml.safe_load_all(capsys.readouterr().out)
  assert job_set['metadata']['name'] == _NAME
  jobs = {
    job['name']: job['template']['spec']
    for job in job_set['spec']['replicatedJobs']
  }
  assert jobs['actor']['completions'] == 3
  (launcher,) = jobs['launcher']['template']['spec']['containers']
  flags = launcher['command'][2:]
  # Without these, a run that is resumed would have its old settings.
  assert {'--num_actors=3', '--evaluations=3s', '--seed=0'} <= {*flags}
  assert flags[-2:] == ['--run_dir=/runs/one', '--resume']
  # The launcher knows its backend without a flag.
  assert not any('backend' in flag or 'kubernetes' in flag for flag in flags)
  (learner,) = jobs['learner']['template']['spec']['containers']
  assert learner['resources']['limits'] == {'nvidia.com/gpu': '1'}


def test_a_run_is_submitted_looked_at_and_stopped(server, capsys):
  assert _submit() == 0
  told = capsys.readouterr().out
  about = '/runs/one --backend=kubernetes --kubernetes=namespace=rl'
  assert f'launch.py status {about}' in told
  assert f'launch.py stop {about}' in told
  assert f'logs --follow job/{_NAME}-launcher-0' in told
  with pytest.raises(api.RefusedError, match=f'{_NAME}, Running; stop it'):
    _submit()
  assert status.show(_RUN_DIR, _NAMESPACE) == 0
  assert f'JobSet {_NAME}: Running' in capsys.readouterr().out
  assert stop.stop(_RUN_DIR, _NAMESPACE) == 0
  assert server.objects == {}
  assert capsys.readouterr().out.endswith('stopped\n')
  with pytest.raises(api.RefusedError, match=f'has no JobSet {_NAME}'):
    stop.stop(_RUN_DIR, _NAMESPACE)


def test_a_run_that_has_ended_makes_room_for_the_next(server):
  assert _submit() == 0
  before = server.objects['secrets', _NAME]
  ended = {'type': 'Completed', 'status': 'True'}
  server.objects['jobsets', _NAME]['status'] = {'conditions': [ended]}
  assert _submit() == 0
  assert 'status' not in server.objects['jobsets', _NAME]
  assert server.objects['secrets', _NAME]['stringData'] != before['stringData']


def test_what_the_cluster_refuses_leaves_nothing(server):
  server.refused['POST', 'jobsets'] = ('jobsets may not be made', 'Forbidden')
  with pytest.raises(api.RefusedError, match='jobsets may not be made'):
    _submit()
  assert server.objects == {}


def test_a_run_of_the_launcher_says_what_it_does(tmp_path, monkeypatch, capsys):
  # A stand-in for kubectl, since the server cannot run commands in pods.
  job_set = {'metadata': {'name': _NAME}}
  launcher = {
    'metadata': {'name': f'{_NAME}-launcher-0-0-abcde'},
    'status': {'phase': 'Running'},
  }
  answers = {'get jobsets': job_set, 'get pods': {'items': [launcher]}}
  script = tmp_path / 'kubectl'
  script.write_text(
    '#!/bin/sh\ncase "$*" in\n'
    + ''.join(
      f"*'{asked}'*) echo '{json.dumps(answer)}' ;;\n"
      for asked, answer in answers.items()
    )
    + '*) echo "asked: $*" ;;\nesac\n'
  )
  script.chmod(0o755)
  monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
  assert status.show(_RUN_DIR, registry.Choice('kubernetes')) == 0
  assert capsys.readouterr().out.endswith(
    f'asked: exec job/{_NAME}-launcher-0 -- python launch.py status /runs/one\n'
  )


@pytest.mark.parametrize('run_dir', ['/elsewhere/one', '/runs', '/runs/../a'])
def test_a_directory_that_is_not_on_the_volume_is_refused(run_dir):
  with pytest.raises(api.RefusedError, match='not on the volume'):
    _submit(run_dir=pathlib.Path(run_dir))


def test_options_of_an_unknown_role_are_refused():
  options = {'kubernetes': f'{_OPTIONS};actors:memory=1Gi'}
  choice = dataclasses.replace(_KUBERNETES, dry_run=True, own_flags=options)
  with pytest.raises(api.RefusedError, match="--kubernetes: .*'actors'"):
    _submit(choice)


def test_a_launcher_in_its_pod_begins_and_goes_on(tmp_path):
  code = (
    'import dataclasses, sys\n'
    'from absl import flags\n'
    'from cli import launching\n'
    'from cli.verbs import train\n'
    'flags.FLAGS(sys.argv)\n'
    'path, settings = train._run_dir(), train._settings()\n'
    'backend = launching.registry.make(train._choice())\n'
    'launch = launching.Launch(settings, path, backend)\n'
    'launch.make_run_dir(resume=True)\n'
    'train.run_dir_lib.write_config(path, dataclasses.asdict(settings))\n'
  )

  def start(*flags):
    return subprocess.run(
      [sys.executable, '-c', code, '--resume', *flags],
      cwd=runs.ROOT,
      env={**os.environ, 'LAUNCHPAD_LISTEN': '7700'},
      capture_output=True,
      text=True,
      timeout=60,
    )

  run_dir = tmp_path / 'run'
  for _ in range(2):
    started = start(f'--run_dir={run_dir}', '--seed=1')
    assert started.returncode == 0, started.stderr
  other = start(f'--run_dir={run_dir}', '--seed=2')
  assert 'has --seed=1, this one --seed=2' in other.stderr
