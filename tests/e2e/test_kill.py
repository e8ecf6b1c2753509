"""Every role is killed during a run, again and again, and the run ends well."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from backends import status

_ROOT = pathlib.Path(__file__).parents[2]
_ROUNDS = 5
_STEPS = 15_000
_EPISODE = 200
_ROLES = (
  'actor/0',
  'replay/0',
  'variable_server/0',
  'learner/0',
  'evaluator/0',
  'counter/0',
)


def _wait_until(condition, what, timeout=120.0):
  deadline = time.monotonic() + timeout
  while not (value := condition()):
    if time.monotonic() > deadline:
      raise TimeoutError(f'waited {timeout} s for {what}')
    time.sleep(0.1)
  return value


def _tasks(run_dir):
  try:
    tasks = status.read(str(run_dir / 'logs'))['tasks']
  except FileNotFoundError:
    return {}
  return {f'{task["label"]}/{task["index"]}': task for task in tasks}


def _reports(run_dir):
  """What each process has reported to the counter, from its journal."""
  path = run_dir / 'checkpoints' / 'counter.journal'
  lines = path.read_text().split('\n')[:-1] if path.exists() else []
  values = dict(json.loads(line) for line in lines)
  return {k: v for k, v in values.items() if k.startswith('report:')}


def _count(run_dir, name):
  return sum(totals.get(name, 0) for totals in _reports(run_dir).values())


def _rows(run_dir, name):
  with open(run_dir / 'metrics' / f'{name}.csv', newline='') as f:
    return list(csv.DictReader(f))


def _kill(run_dir, name):
  """Kills a task; returns when it runs again and the program goes on."""
  before = _tasks(run_dir)[name]
  os.kill(before['pid'], signal.SIGKILL)

  def is_back():
    task = _tasks(run_dir)[name]
    return task['restarts'] > before['restarts'] and task['state'] == 'running'

  _wait_until(is_back, f'{name} to be restarted')
  steps = _count(run_dir, 'actor_steps')
  _wait_until(
    lambda: _count(run_dir, 'actor_steps') > steps,
    f'the actors to go on after {name} was killed',
  )


# Thirty kills, each waited out.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope='module')
def run(tmp_path_factory):
  run_dir = tmp_path_factory.mktemp('run')
  with open(run_dir / 'output', 'w+') as output:
    process = subprocess.Popen(
      [
        sys.executable,
        'launch.py',
        f'--run_dir={run_dir}',
        f'--num_steps={_STEPS}',
        '--checkpoint_every=2',
      ],
      cwd=_ROOT,
      stdout=output,
      stderr=output,
    )
    try:
      _wait_until(
        lambda: _count(run_dir, 'learner_steps') > 10, 'the learner to learn'
      )
      for _ in range(_ROUNDS):
        for name in _ROLES:
          _kill(run_dir, name)
      process.wait(timeout=240)
    finally:
      process.kill()
  return run_dir, process.returncode


def test_the_run_ends_by_itself(run):
  run_dir, exit_code = run
  assert exit_code == 0, (run_dir / 'output').read_text()


@pytest.mark.parametrize('name', _ROLES)
def test_each_role_was_restarted(run, name):
  run_dir, _ = run
  assert _tasks(run_dir)[name]['restarts'] == _ROUNDS


def test_the_counts_are_right(run):
  run_dir, _ = run
  counted = _count(run_dir, 'actor_steps')
  assert _STEPS <= counted <= _STEPS + 2 * _EPISODE
  # A kill between counting an episode and logging it costs its row.
  logged = sum(
    float(row['actor/episode_length'])
    for actor in range(2)
    for row in _rows(run_dir, f'actor_{actor}')
  )
  assert counted - _ROUNDS * _EPISODE <= logged <= counted


@pytest.mark.parametrize('actor', range(2))
def test_versions_rise_in_every_actor(run, actor):
  run_dir, _ = run
  versions = [
    float(row['weights/version']) for row in _rows(run_dir, f'actor_{actor}')
  ]
  assert versions == sorted(versions)
  assert versions[-1] > versions[0] >= 1
