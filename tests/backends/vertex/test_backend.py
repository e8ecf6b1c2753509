"""What Launchpad asks of Vertex AI; Docker and the cloud take no part."""

import pathlib

import pytest
from launchpad.launch import signal_handling

from backends import api, registry
from backends.vertex import images
from tests.programs import samples

_ROOT = pathlib.Path(__file__).parents[3]
_MISSING = 'XManager is missing: .venv/bin/uv pip install -r tools/vertex.lock'


class _Experiment:
  """What Launchpad uses of the result of `xm_local.create_experiment`."""

  def __init__(self):
    self.containers = []
    self.jobs = None

  def __enter__(self):
    return self

  def __exit__(self, *args):
    pass

  def package(self, packageables):
    (packageable,) = packageables
    # Launchpad keeps the folder until the interpreter ends.
    self.containers.append(packageable.executable_spec)
    return [packageable]

  def add(self, group):
    self.jobs = list(group.jobs.values())


@pytest.fixture
def experiment(monkeypatch):
  xm_local = pytest.importorskip('xmanager.xm_local', reason=_MISSING)
  result = _Experiment()
  monkeypatch.setattr(
    xm_local, 'create_experiment', lambda experiment_title: result
  )
  # Otherwise Launchpad's signal handlers would outlive the test.
  for name in ('exit_gracefully_on_sigint', 'exit_gracefully_on_sigquit'):
    monkeypatch.setattr(signal_handling, name, lambda: None)
  return result


def _backend(vertex, resources=''):
  return registry.make(
    registry.Choice(
      launch_type='vertex_ai',
      resources=resources,
      own_flags={'vertex': vertex},
    )
  )


def test_each_pool_has_the_resources_of_its_roles(experiment, tmp_path):
  backend = _backend('gpu=V100', 'learner:gpu=2,cpu=8')
  program = samples.SETTINGS.make_program(tmp_path)
  submission = api.Submission(tmp_path, program, flags=())
  assert backend.submit(submission) == api.Submitted('in a bucket')
  asked = [job.executor.requirements for job in experiment.jobs]
  shown = [(str(each.task_requirements), each.replicas) for each in asked]
  # The second pool has three actors, an evaluator and three servers.
  assert shown == [('CPU: 8.0, V100: 2.0', 1), ('CPU: 1.0', 7)]
  for container in experiment.containers:
    folder = pathlib.Path(container.path)
    assert {'launch.py', 'nodes', 'job.pkl'} <= {
      p.name for p in folder.iterdir()
    }
    assert not (folder / '.venv').exists()
    packages = (folder / 'requirements.txt').read_text().splitlines()
    assert 'dm-launchpad==0.5.0' in packages
    assert 'jax[cuda12]==0.6.2' in packages
    assert f'WORKDIR {folder.name}' in container.docker_instructions


def test_an_image_has_the_packages_of_the_lock_file():
  lock = (_ROOT / 'requirements.lock').read_text()
  packages = images.requirements(lock, gpu=False).splitlines()
  assert 'protobuf==3.19.6' in packages
  assert not any('cuda' in each or '--hash' in each for each in packages)


@pytest.mark.parametrize(
  'text, message',
  [
    ('gpu', 'name=value'),
    ('cpu=2', 'kind of GPU'),
    ('x:gpu=T4', 'kind of GPU'),
  ],
)
def test_other_options_are_refused(text, message):
  with pytest.raises(api.RefusedError, match=f'--vertex: .*{message}'):
    _backend(text)


def test_a_missing_gpu_or_bucket_is_refused(monkeypatch):
  pytest.importorskip('xmanager', reason=_MISSING)
  monkeypatch.setenv('GOOGLE_CLOUD_BUCKET_NAME', 'bucket')
  run_dir = pathlib.Path('/gcs/bucket/run')
  _check('gpu=a100', run_dir)
  with pytest.raises(api.RefusedError, match="no GPU 'GTX'"):
    _check('gpu=GTX', run_dir)
  with pytest.raises(api.RefusedError, match='gcsfuse BUCKET /gcs/BUCKET'):
    _check('', pathlib.Path('/home/me/run'))
  monkeypatch.delenv('GOOGLE_CLOUD_BUCKET_NAME')
  with pytest.raises(api.RefusedError, match='GOOGLE_CLOUD_BUCKET_NAME'):
    _check('', run_dir)


def _check(text, run_dir):
  _backend(text).check(run_dir, dry_run=False)
