"""Runs the pods of a JobSet as processes of this machine, without a cluster.

The processes have the manifests' commands and environment variables, with other
host names, ports and paths. The tests start a pod again where Kubernetes would.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest
import yaml

from tests import helpers
from tests.e2e import runs

_PATIENCE = 150.0

pytestmark = pytest.mark.long


class Pods(runs.Run):
  """The pods of one run; `process` is the launcher's process."""

  def __init__(self, run_dir):
    super().__init__(run_dir)
    self.daemons = {}
    with socket.socket() as free:
      free.bind(('127.0.0.1', 0))
      self._port = str(free.getsockname()[1])
    key = run_dir.with_name('key')
    key.write_text('the key')
    self._key = str(key)
    self._output = None

  def render(self, *flags):
    """Reads the JobSet that `launch.py --dry_run` prints."""
    options = f'image=rl:1,volume=claim:{self.run_dir.parent}'
    manifests = subprocess.run(
      [
        *(sys.executable, 'launch.py', '--backend=kubernetes', '--dry_run'),
        *(f'--kubernetes={options}', f'--run_dir={self.run_dir}', *flags),
      ],
      cwd=runs.ROOT,
      check=True,
      capture_output=True,
      text=True,
      timeout=_PATIENCE,
    ).stdout
    *_, job_set = yaml.safe_load_all(manifests)
    self._launcher_name = f'{job_set["metadata"]["name"]}-launcher-0-0'
    self._jobs = {
      job['name']: job['template']['spec']
      for job in job_set['spec']['replicatedJobs']
    }

  @contextlib.contextmanager
  def started(self):
    """Starts the pods that have not completed; kills those left at the end."""
    with contextlib.ExitStack() as stack:
      self._output = stack.enter_context(open(self.output_path, 'a'))
      for name, job in self._jobs.items():
        for index in range(job['completions']):
          before = self.daemons.get((name, index))
          if before is None or before.returncode != 0:
            process = stack.enter_context(self._start(job, index))
            if name == 'launcher':
              self.process = process
            else:
              self.daemons[name, index] = process
      yield

  @contextlib.contextmanager
  def _start(self, job, index):
    (container,) = job['template']['spec']['containers']
    env = {each['name']: each['value'] for each in container['env']}
    process = subprocess.Popen(
      [
        sys.executable,
        *(self._here(a, index) for a in container['command'][1:]),
      ],
      cwd=runs.ROOT,
      env={
        **os.environ,
        **{name: self._here(value, index) for name, value in env.items()},
        helpers.MARKER: str(self.run_dir),
      },
      stdout=self._output,
      stderr=subprocess.STDOUT,
    )
    try:
      yield process
    finally:
      process.kill()
      process.wait()

  def _here(self, text, index):
    """Returns a text of the manifests as it must be on this machine.

    Args:
      text: a word of a command, or an environment variable's value.
      index: the pod's number in its job.
    """
    host = (
      f'{self._launcher_name}.{self._launcher_name[: -len("-launcher-0-0")]}'
    )
    return (
      text.replace(host, '127.0.0.1')
      .replace('7700', self._port)
      .replace('/etc/launchpad/key', self._key)
      .replace('$(JOB_COMPLETION_INDEX)', str(index))
    )


def test_a_launcher_that_makes_room_goes_on_with_all_daemons(tmp_path):
  pods = Pods(tmp_path / 'run')
  pods.render('--num_actors=2', '--num_steps=1000000', '--checkpoint_every=1')
  with pods.started():
    pods.wait_to_learn()
    pods.process.send_signal(signal.SIGTERM)
    assert pods.end() == 143, pods.output
    codes = {task: each.wait(_PATIENCE) for task, each in pods.daemons.items()}
  # After exit code 0, Kubernetes would not start the pod again.
  assert 0 not in codes.values(), pods.output
  before = pods.count('learner_steps')
  with pods.started():
    pods.wait_until(
      lambda: pods.count('learner_steps') > before + 10, 'steps after that'
    )
    pods.process.send_signal(signal.SIGTERM)
    assert pods.end() == 143, pods.output


def test_a_run_ends_with_all_of_its_pods(tmp_path):
  pods = Pods(tmp_path / 'run')
  pods.render('--num_actors=1', '--num_steps=1500')
  with pods.started():
    assert pods.end() == 0, pods.output
    codes = {task: each.wait(_PATIENCE) for task, each in pods.daemons.items()}
  assert set(codes.values()) == {0}, pods.output
  assert (pods.run_dir / 'config.json').exists()
  assert pods.count('actor_steps') >= 1500
  helpers.assert_nothing_left(str(pods.run_dir))
