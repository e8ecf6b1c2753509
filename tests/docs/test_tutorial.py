"""Runs the tutorial's cells one after another, as a reader does."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parents[2]


def _script(notebook: dict) -> str:
  """Returns a notebook's cells as a script; Jupyter itself is not needed."""
  parts = []
  for cell in notebook['cells']:
    source = ''.join(cell['source'])
    first, _, rest = source.partition('\n')
    if cell['cell_type'] != 'code':
      continue
    if first.startswith('!'):
      parts.append(f'subprocess.run({source[1:]!r}, shell=True, check=True)')
    elif first.startswith('%%writefile '):
      name = first.removeprefix('%%writefile ')
      parts.append(f'pathlib.Path({name!r}).write_text({rest!r})')
    else:
      parts.append(source)
  return '\n'.join(parts)


@pytest.mark.long
def test_it_runs(tmp_path):
  # The tutorial's commands find the repository's files through links, and its
  # runs are written to a temporary folder.
  for path in _ROOT.iterdir():
    if path.name not in ('docs', 'runs'):
      (tmp_path / path.name).symlink_to(path)
  (tmp_path / 'docs').mkdir()
  notebook = json.loads((_ROOT / 'docs' / 'tutorial.ipynb').read_text())
  result = subprocess.run(
    [sys.executable, '-c', _script(notebook)],
    cwd=tmp_path / 'docs',
    env={**os.environ, 'MPLBACKEND': 'agg'},
    capture_output=True,
    text=True,
    timeout=280,
  )
  assert result.returncode == 0, result.stdout + result.stderr
  assert result.stdout.count('\nreturn ') == 3
  assert (tmp_path / 'runs' / 'push' / 'policy').exists()
