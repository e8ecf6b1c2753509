"""A run that was stopped or killed goes on from where it was."""

import json
import os
import signal
import subprocess
import sys

import pytest

from reporting.sinks import jsonl, tensorboard
from tests import helpers
from tests.e2e import runs

_METRICS = '--metrics=tensorboard,jsonl'


@pytest.fixture(scope='module')
def run(tmp_path_factory):
  """Returns a run whose launcher was killed during a learner's checkpoint."""
  run = runs.Run(tmp_path_factory.mktemp('resume') / 'run')
  # The learner writes one after each step, so one is most likely half-written.
  with run.launch('--num_steps=1000000', '--checkpoint_every=0', _METRICS):
    run.wait_to_learn()
    run.wait_until(lambda: run.rows('evaluator_0'), 'evaluation')
    run.process.send_signal(signal.SIGKILL)
  return run


def test_a_killed_launcher_leaves_nothing(run):
  helpers.assert_nothing_left(str(run.run_dir), timeout=10)


def test_everything_goes_on(run):
  helpers.assert_nothing_left(str(run.run_dir), timeout=10)
  steps, learner_steps = run.count('actor_steps'), run.count('learner_steps')
  rows = {
    name: run.rows(name) for name in ('actor_0', 'learner_0', 'evaluator_0')
  }
  target = steps + 2000
  with run.launch('--resume', f'--num_steps={target}', _METRICS):
    assert run.end() == 0, run.output
  assert (
    json.loads((run.run_dir / 'config.json').read_text())['checkpoint_every']
    == 0
  )
  assert target <= run.count('actor_steps') <= target + 2 * 200
  assert run.count('learner_steps') > learner_steps
  for name, before in rows.items():
    # The rows may have more columns now.
    for old, row in zip(before, run.rows(name), strict=False):
      assert row.items() >= old.items()
  for actor in range(2):
    versions = run.column(f'actor_{actor}', 'weights/version')
    assert versions == sorted(versions)
    assert versions[-1] > versions[0]
  resumed = run.rows('learner_0')[len(rows['learner_0']) :]
  assert float(resumed[0]['learner/steps']) >= learner_steps


def test_sinks_of_metrics_have_each_row_once(run):
  rows = {
    path.stem: len(run.rows(path.stem))
    for path in (run.run_dir / 'metrics').glob('*.csv')
  }
  assert len(rows) == 4
  assert tensorboard.sent(run.run_dir) == rows
  assert jsonl.sent(run.run_dir) == rows
  times = [
    json.loads(line)['time'] for line in (run.run_dir / 'metrics.jsonl').open()
  ]
  assert sorted(times) == sorted(
    float(row['time']) for name in rows for row in run.rows(name)
  )


def test_another_agents_run_is_refused(run, tmp_path):
  with run.launch('--resume', '--env=gym:MountainCarContinuous-v0'):
    assert run.end() == 2
  assert '--env=gym:Pendulum-v1' in run.output
  assert 'MountainCarContinuous' in run.output


def test_it_runs_once_and_stops_while_its_servers_are_away(run):
  with run.launch('--resume', '--num_steps=1000000'):
    run.wait_until(
      lambda: (
        os.path.exists(run.run_dir / 'logs' / 'status.json')
        and run.tasks()['actor/0'].state == 'running'
      ),
      'actors',
    )
    steps = run.count('actor_steps')
    run.wait_until(lambda: run.count('actor_steps') > steps, 'steps')
    second = subprocess.run(
      [sys.executable, 'launch.py', '--resume', f'--run_dir={run.run_dir}'],
      cwd=runs.ROOT,
      capture_output=True,
      text=True,
      timeout=60,
    )
    assert second.returncode == 2
    assert f'still goes on, as process {run.process.pid}' in second.stderr
    for name in ('replay/0', 'variable_server/0', 'counter/0'):
      os.kill(run.tasks()[name].pid, signal.SIGKILL)
    run.process.send_signal(signal.SIGINT)
    assert run.end(timeout=60) == 130, run.output
  assert 'killing' not in run.output
  assert run.left_over() == []
