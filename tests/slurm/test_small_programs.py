"""Programs without JAX on a real Slurm: what ends, stops and restarts a job."""

import os
import signal
import sys
import time

import psutil

from backends import resources
from backends.slurm import job
from backends.slurm import script as slurm_script
from tests import helpers
from tests.e2e import runs
from tests.slurm import jobs


def _submit(name, directory, monkeypatch, groups, asked='', **options):
  """Submits a program of `launchers`; returns the job's number."""
  monkeypatch.setenv(helpers.MARKER, str(directory))
  monkeypatch.setenv('PYTHONPATH', str(runs.ROOT))
  monkeypatch.chdir(runs.ROOT)
  parts = slurm_script.components(
    groups, resources.parse(asked), {None: options}
  )
  plan = directory / 'plan.json'
  slurm_script.save_plan(plan, parts)
  command = [sys.executable, '-m', 'tests.slurm.launchers', name]
  script = slurm_script.render(
    name, parts, [*command, str(directory)], plan, directory
  )
  return job.submit(directory, script)


def _output(directory, number):
  return (directory / f'slurm-{number}.out').read_text()


def test_a_failure_is_the_jobs_and_its_cause_comes_last(tmp_path, monkeypatch):
  groups = {'fail': 1, 'noisy': 1}
  number = _submit('crash', tmp_path, monkeypatch, groups, nodes='2')
  assert jobs.end(number) == ('FAILED', '1:0')
  *_, error, last = _output(tmp_path, number).splitlines()
  assert error == 'ValueError: the very first cause'
  assert last == 'The run failed: fail/0 exited with code 1.'
  helpers.assert_nothing_left(str(tmp_path))


def test_the_time_limits_warning_and_a_lost_node_requeue(tmp_path, monkeypatch):
  # The job is heterogeneous, so each part has a node of its own.
  groups, asked = {'save': 1, 'other': 1}, 'save:cpu=2,gpu=1'
  number = _submit('lasting', tmp_path, monkeypatch, groups, asked)
  helpers.wait_until((tmp_path / 'up-0').exists, 'the first start')
  # Slurm sends the same signal before the time limit.
  job.call('scancel', '--batch', '--signal=USR1', number)
  _wait_for_start(number, tmp_path / 'up-1')
  assert (tmp_path / 'saved-0').exists()
  _kill_daemon(tmp_path, 'node2')
  _wait_for_start(number, tmp_path / 'up-2')
  assert jobs.end(number) == ('COMPLETED', '0:0'), _output(tmp_path, number)
  assert jobs.shown(number, 'Restarts') == '2'
  assert (tmp_path / 'saved-1').exists()
  assert (tmp_path / 'saved-2').exists()
  output = _output(tmp_path, number)
  assert 'node2 is lost: its daemon has ended' in output
  assert 'The run failed: node2 failed.' in output
  assert '[save/0] start 2 with GPU 0' in output
  helpers.assert_nothing_left(str(tmp_path))


def _wait_for_start(number, path):
  def started():
    jobs.wake_scheduler(number)
    time.sleep(1)
    return path.exists()

  helpers.wait_until(started, f'{path.name} of job {number}', 90.0)


def _kill_daemon(directory, node):
  (daemon,) = [
    process
    for process in map(psutil.Process, helpers.marked(str(directory)))
    if 'backends.cluster.node_daemon' in ' '.join(process.cmdline())
    and process.environ().get('SLURMD_NODENAME') == node
    and process.name() != 'srun'
  ]
  os.kill(daemon.pid, signal.SIGKILL)
