"""Tests the files of the container image without building it."""

import fnmatch
import pathlib
import re

import pytest
import yaml

from backends.kubernetes import manifests, options

ROOT = pathlib.Path(__file__).parents[1]
_DOCKERFILE = (ROOT / 'Dockerfile').read_text()


def _is_ignored(path: str) -> bool:
  """Returns whether `.dockerignore` excludes a path or a folder above it."""
  patterns = [
    line
    for line in (ROOT / '.dockerignore').read_text().splitlines()
    if line and not line.startswith('#')
  ]
  parts = pathlib.PurePath(path).parts
  return any(
    fnmatch.fnmatchcase(part, pattern.removeprefix('**/'))
    for pattern in patterns
    for part in (parts if pattern.startswith('**/') else parts[:1])
  )


def _pods():
  text = manifests.render(
    'one',
    {'actor': 1},
    {},
    options.parse('image=x,volume=c:/r'),
    ['--seed=1'],
    'key',
  )
  *_, job_set = yaml.safe_load_all(text)
  return [
    job['template']['spec']['template']['spec']
    for job in job_set['spec']['replicatedJobs']
  ]


def test_each_path_that_is_copied_exists():
  copied = re.findall(r'^COPY (\S+) ', _DOCKERFILE, re.MULTILINE)
  assert 'requirements.lock' in copied
  for path in copied:
    assert (ROOT / path).exists()
    assert not _is_ignored(path)


def test_every_package_that_a_run_may_import_is_in_it():
  packages = {path.parent.name for path in ROOT.glob('*/__init__.py')}
  left_out = {name for name in packages if _is_ignored(f'{name}/__init__.py')}
  assert left_out == {'benchmarks', 'tests'}


@pytest.mark.parametrize(
  'path',
  ['.git/config', '.env', '.venv/bin/python', 'runs/one/x', 'a/b.pem'],
)
def test_files_that_may_be_secret_are_not_in_it(path):
  assert _is_ignored(path)


def test_pods_run_its_command_as_its_user():
  (user,) = re.findall(r'--uid (\d+)', _DOCKERFILE)
  assert f'USER {user}:{user}' in _DOCKERFILE
  launcher, daemon = _pods()
  for pod in (launcher, daemon):
    assert str(pod['securityContext']['runAsUser']) == user
  assert launcher['containers'][0]['command'][:2] == ['python', 'launch.py']
  assert (ROOT / 'launch.py').exists()
  assert 'FROM --platform=linux/amd64 python:3.10-' in _DOCKERFILE
