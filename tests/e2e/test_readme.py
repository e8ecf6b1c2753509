"""The README's examples run as they stand there."""

import os
import pathlib
import re
import subprocess
import sys

from tests.policies import kept

_ROOT = pathlib.Path(__file__).parents[2]


def _examples() -> list[str]:
  readme = (_ROOT / 'README.md').read_text()
  return re.findall(r'```python\n(.*?)```', readme, re.DOTALL)


def test_the_worked_example_trains(tmp_path):
  example, *_ = _examples()
  assert len(example.splitlines()) <= 30
  (tmp_path / 'push.py').write_text(example)
  result = subprocess.run(
    [sys.executable, 'push.py'],
    cwd=tmp_path,
    env={**os.environ, 'PYTHONPATH': str(_ROOT)},
    capture_output=True,
    text=True,
    timeout=280,
  )
  assert result.returncode == 0, result.stdout + result.stderr
  assert 'The run failed' not in result.stderr
  for process in ('actor_0', 'actor_1', 'learner_0', 'evaluator_0'):
    csv = tmp_path / 'runs' / 'push' / 'metrics' / f'{process}.csv'
    assert len(csv.read_text().splitlines()) > 1, result.stdout


def test_ones_own_agent_trains(tmp_path):
  _, example, _ = _examples()
  (tmp_path / 'munchausen.py').write_text(example)
  result = subprocess.run(
    [
      *(sys.executable, str(_ROOT / 'launch.py'), '--agent=module:munchausen'),
      *('--env=gym:CartPole-v1', '--num_actors=1', '--num_steps=500'),
      '--config=entropy_temperature=0.1,batch_size=8,min_replay_size=100',
      '--run_dir=run',
    ],
    cwd=tmp_path,
    capture_output=True,
    text=True,
    timeout=280,
  )
  assert result.returncode == 0, result.stdout + result.stderr
  learner = (tmp_path / 'run' / 'metrics' / 'learner_0.csv').read_text()
  assert len(learner.splitlines()) > 1
  assert (tmp_path / 'run' / 'policy').exists()


def test_the_policy_plays_afterwards(tmp_path):
  *_, example = _examples()
  (tmp_path / 'runs' / 'pendulum').mkdir(parents=True)
  kept.keep('sac', 'gym:Pendulum-v1', tmp_path / 'runs' / 'pendulum' / 'policy')
  result = subprocess.run(
    [sys.executable, '-c', example],
    cwd=tmp_path,
    env={**os.environ, 'PYTHONPATH': str(_ROOT)},
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert result.returncode == 0, result.stderr
  lines = result.stdout.splitlines()
  assert len(lines) == 3 and all(line.startswith('return ') for line in lines)
