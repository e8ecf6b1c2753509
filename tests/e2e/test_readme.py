"""The README's worked example runs as it stands there."""

import os
import pathlib
import re
import subprocess
import sys

_ROOT = pathlib.Path(__file__).parents[2]


def test_the_worked_example_trains(tmp_path):
  (example,) = re.findall(
    r'```python\n(.*?)```', (_ROOT / 'README.md').read_text(), re.DOTALL
  )
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
