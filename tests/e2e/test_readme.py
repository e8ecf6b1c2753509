"""Runs the examples of the README and of docs/ as they are written there."""

import os
import pathlib
import re
import subprocess
import sys

from tests.policies import kept

_ROOT = pathlib.Path(__file__).parents[2]
_LAUNCH = str(_ROOT / 'launch.py')


def _examples(page: str) -> list[str]:
  text = (_ROOT / page).read_text()
  return re.findall(r'```python\n(.*?)```', text, re.DOTALL)


def _run(command: list[str], folder: pathlib.Path, timeout: float = 280):
  result = subprocess.run(
    command,
    cwd=folder,
    env={**os.environ, 'PYTHONPATH': str(_ROOT)},
    capture_output=True,
    text=True,
    timeout=timeout,
  )
  assert result.returncode == 0, result.stdout + result.stderr
  return result


def test_the_program_made_in_python_trains(tmp_path):
  *_, example = _examples('docs/own_agent.md')
  assert len(example.splitlines()) <= 30
  (tmp_path / 'push.py').write_text(example)
  result = _run([sys.executable, 'push.py'], tmp_path)
  assert 'The run failed' not in result.stderr
  for process in ('actor_0', 'actor_1', 'learner_0', 'evaluator_0'):
    csv = tmp_path / 'runs' / 'push' / 'metrics' / f'{process}.csv'
    assert len(csv.read_text().splitlines()) > 1, result.stdout


def test_ones_own_environment_is_trained_on(tmp_path):
  example, _ = _examples('README.md')
  (tmp_path / 'push.py').write_text(example)
  _run(
    [
      *(sys.executable, _LAUNCH, '--env=module:push:make', '--agent=ddqn'),
      *('--config=min_replay_size=100', '--num_actors=1', '--num_steps=500'),
      '--run_dir=run',
    ],
    tmp_path,
  )
  learner = (tmp_path / 'run' / 'metrics' / 'learner_0.csv').read_text()
  assert len(learner.splitlines()) > 1


def test_ones_own_agent_trains(tmp_path):
  _, example = _examples('README.md')
  (tmp_path / 'munchausen.py').write_text(example)
  _run(
    [
      *(sys.executable, _LAUNCH, '--agent=module:munchausen'),
      *('--env=gym:CartPole-v1', '--num_actors=1', '--num_steps=500'),
      '--config=entropy_temperature=0.1,batch_size=8,min_replay_size=100',
      '--run_dir=run',
    ],
    tmp_path,
  )
  learner = (tmp_path / 'run' / 'metrics' / 'learner_0.csv').read_text()
  assert len(learner.splitlines()) > 1
  assert (tmp_path / 'run' / 'policy').exists()


def test_the_policy_plays_afterwards(tmp_path):
  (example,) = _examples('docs/policies.md')
  (tmp_path / 'runs' / 'pendulum').mkdir(parents=True)
  kept.keep('sac', 'gym:Pendulum-v1', tmp_path / 'runs' / 'pendulum' / 'policy')
  result = _run([sys.executable, '-c', example], tmp_path, timeout=120)
  lines = result.stdout.splitlines()
  assert len(lines) == 3 and all(line.startswith('return ') for line in lines)
