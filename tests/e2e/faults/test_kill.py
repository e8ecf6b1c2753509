"""A run in which every role is killed, again and again, ends well."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from backends.supervision import restarts
from tests.e2e import runs

_ROUNDS = (1, pytest.param(5, marks=pytest.mark.long))
_STEPS = 1_000_000
_EPISODE = 200
_ROLES = (
  'actor/0',
  'replay/0',
  'variable_server/0',
  'learner/0',
  'evaluator/0',
  'counter/0',
)

# The counter listens only to clients that have the run's call key.
_REPORT = """
import sys
from rpc import courier_stand_in
from nodes import counter_client
_, folder, address, limit = sys.argv
courier_stand_in.install(folder, '127.0.0.1')
counter = counter_client.CounterClient(address)
missing = int(limit) - counter.get_counts()['actor_steps']
counter.report('test', {'actor_steps': missing})
print(missing)
"""

# There are up to thirty kills, and after each kill the run must recover.
pytestmark = pytest.mark.timeout(600)


def _kill(run, name):
  """Kills a task; returns when it runs again and actors make steps.

  It first waits until the task has run for a while: a task that dies early
  again and again ends the run.
  """
  before = run.tasks()[name]
  run.wait_until(
    lambda: time.time() - before.started > restarts.RestartPolicy().early,
    f'{name} to be old enough to be killed',
  )
  os.kill(before.pid, signal.SIGKILL)

  def is_back():
    task = run.tasks()[name]
    return task.restarts > before.restarts and task.state == 'running'

  run.wait_until(is_back, f'restart of {name}')
  steps = run.count('actor_steps')
  run.wait_until(
    lambda: run.count('actor_steps') > steps, f'steps after a kill of {name}'
  )


def _fill_up(run):
  """Reports to the counter the steps that are missing from the run's limit.

  So the run ends on any machine, however many steps it makes between kills.
  """
  task = run.tasks()['counter/0']
  (address,) = task.addresses
  folder = psutil.Process(task.pid).environ()['LAUNCHPAD_LOCAL_RUN']
  reported = subprocess.run(
    [sys.executable, '-c', _REPORT, folder, address, str(_STEPS)],
    cwd=runs.ROOT,
    stdout=subprocess.PIPE,
    check=True,
    timeout=120,
  )
  run.filled_up = int(reported.stdout)


@pytest.fixture(scope='module', params=_ROUNDS)
def run(tmp_path_factory, request):
  run = runs.Run(tmp_path_factory.mktemp('kill') / 'run')
  run.rounds = request.param
  with run.launch(f'--num_steps={_STEPS}', '--checkpoint_every=2'):
    run.wait_to_learn()
    for _ in range(run.rounds):
      for name in _ROLES:
        _kill(run, name)
    _fill_up(run)
    run.end()
  return run


def test_the_run_ends_by_itself(run):
  assert run.process.returncode == 0, run.output
  assert run.left_over() == []


@pytest.mark.parametrize('name', _ROLES)
def test_each_role_was_restarted(run, name):
  assert run.tasks()[name].restarts == run.rounds


def test_the_counts_are_right(run):
  counted = run.count('actor_steps')
  # An actor may play one more episode after the one that it is in.
  assert _STEPS <= counted <= _STEPS + 4 * _EPISODE
  counted -= run.filled_up
  # If an actor is killed after it counts an episode and before it logs the
  # episode, the row is missing.
  logged = sum(
    sum(run.column(f'actor_{actor}', 'actor/episode_length'))
    for actor in range(2)
  )
  assert counted - (run.rounds + 2) * _EPISODE <= logged <= counted


@pytest.mark.parametrize('actor', range(2))
def test_versions_rise_in_every_actor(run, actor):
  versions = run.column(f'actor_{actor}', 'weights/version')
  assert versions == sorted(versions)
  assert versions[-1] > versions[0] >= 1
