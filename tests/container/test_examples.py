"""The examples of the container's page run without changes."""

import pathlib
import re
import subprocess
import sys

import pytest

_REPOSITORY = pathlib.Path(__file__).parents[2]
_PAGE = (_REPOSITORY / 'docs' / 'container.md').read_text()
_EXAMPLES = dict(
  re.findall(r'## With (\w+)\n(?:(?!\n## ).)*?```python\n(.*?)```', _PAGE, re.S)
)


def test_each_kind_of_leaf_has_an_example():
  assert set(_EXAMPLES) == {'NumPy', 'JAX', 'TensorFlow', 'Acme'}


@pytest.mark.parametrize('name', _EXAMPLES)
def test_an_example_runs(name):
  done = subprocess.run(
    [sys.executable, '-c', _EXAMPLES[name]],
    cwd=_REPOSITORY,
    capture_output=True,
    text=True,
    timeout=240,
  )
  assert not done.returncode, done.stderr
