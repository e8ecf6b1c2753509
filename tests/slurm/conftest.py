"""One real cluster for all tests of this folder."""

import os

import pytest

from tests.slurm import cluster


@pytest.fixture(scope='session', autouse=True)
def slurm(tmp_path_factory):
  """Starts two nodes, which Slurm's commands find by a variable."""
  reason = cluster.missing()
  if reason:
    pytest.skip(reason)
  with (
    cluster.running(tmp_path_factory.mktemp('slurm')) as env,
    pytest.MonkeyPatch.context() as patch,
  ):
    patch.setenv('SLURM_CONF', env['SLURM_CONF'])
    yield


@pytest.fixture(autouse=True)
def no_jobs_left():
  """Cancels the jobs that a failed test has left."""
  yield
  os.system('scancel --user=$(id -un)')
