"""`python launch.py` as a user runs it: real processes, from outside."""

import csv
import os
import pathlib
import signal
import subprocess
import sys

import psutil
import pytest

_ROOT = pathlib.Path(__file__).parents[2]
_MARK = 'LAUNCH_TEST_MARK'


def _launch(mark, *flags, timeout=280):
  return subprocess.run(
    [sys.executable, 'launch.py', *flags],
    cwd=_ROOT,
    env={**os.environ, _MARK: mark},
    capture_output=True,
    text=True,
    timeout=timeout,
  )


def _left_over(mark):
  """Processes that the run started and left: they inherit its environment."""
  found = []
  for process in psutil.process_iter():
    try:
      if process.environ().get(_MARK) == mark:
        found.append(process)
    except psutil.Error:
      pass
  return found


def _rows(run_dir, name):
  with open(run_dir / 'metrics' / f'{name}.csv', newline='') as f:
    return list(csv.DictReader(f))


@pytest.fixture(scope='module')
def run(tmp_path_factory):
  run_dir = tmp_path_factory.mktemp('run')
  mark = str(run_dir)
  result = _launch(
    mark, '--num_actors=2', '--num_steps=2000', f'--run_dir={run_dir}'
  )
  return run_dir, mark, result


def test_a_run_ends_well_and_leaves_no_process(run):
  _, mark, result = run
  assert result.returncode == 0, result.stdout + result.stderr
  assert _left_over(mark) == []


def test_a_run_stops_within_an_episode_an_actor(run):
  run_dir, *_ = run
  steps = sum(
    float(row['actor/episode_length'])
    for actor in range(2)
    for row in _rows(run_dir, f'actor_{actor}')
  )
  assert 2000 <= steps <= 2000 + 2 * 200


def test_actors_act_on_rising_versions(run):
  run_dir, *_ = run
  for actor in range(2):
    versions = [
      float(row['weights/version']) for row in _rows(run_dir, f'actor_{actor}')
    ]
    assert versions == sorted(versions)
    assert versions[-1] > versions[0] >= 1


def test_a_run_leaves_its_files(run):
  run_dir, _, result = run
  assert (run_dir / 'config.json').exists()
  assert (run_dir / 'learning_curve.png').stat().st_size > 1000
  assert float(_rows(run_dir, 'learner_0')[-1]['learner/steps']) > 100
  assert _rows(run_dir, 'evaluator_0')
  assert str(run_dir) in result.stdout


def test_ctrl_c_ends_a_run_with_its_loggers_closed(tmp_path):
  mark = str(tmp_path)
  process = subprocess.Popen(
    [sys.executable, 'launch.py', f'--run_dir={tmp_path}'],
    cwd=_ROOT,
    env={**os.environ, _MARK: mark},
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    text=True,
  )
  for line in process.stdout:
    if line.startswith('[learner/0]') and 'steps' in line:
      break
  process.send_signal(signal.SIGINT)
  output, _ = process.communicate(timeout=60)
  assert process.returncode == 130, output
  assert 'killing' not in output
  assert _left_over(mark) == []
  # Closing writes the row that the time filter held back.
  checkpoints = list((tmp_path / 'checkpoints' / 'learner').iterdir())
  assert checkpoints
  assert _rows(tmp_path, 'learner_0')[-1]['learner/steps']


@pytest.mark.parametrize(
  'flag, expected',
  [
    ('--num_actors=0', ['num_actors']),
    ('--num_steps=-5', ['num_steps']),
    ('--agent=dreamer', ['agent', 'sac']),
    ('--env=gym:NoSuch-v0', ['gym:NoSuch-v0']),
    ('--env=Pendulum-v1', ['gym:']),
    ('--run_dir=/proc/run', ['run_dir', '/proc/run']),
    ('--nosuchflag=1', ['nosuchflag']),
  ],
)
def test_a_wrong_value_is_one_sentence(flag, expected):
  result = _launch('refused', flag, timeout=60)
  assert result.returncode == 2, result.stderr
  assert result.stdout == ''
  assert len(result.stderr.strip().splitlines()) == 1, result.stderr
  for text in expected:
    assert text in result.stderr
