"""Acme imports on today's JAX; only compat/ uses others' private parts."""

import ast
import pathlib
import subprocess
import sys

from compat import patches

import jax
import pytest

_ROOT = pathlib.Path(__file__).parents[1]
# These names look private, but they are documented.
_DOCUMENTED = {'_asdict', '_exit', '_fields', '_replace'}
# Private parts of Python itself, which nothing public replaces.
_OF_PYTHON = {
  'system/stops.py': {'_shutdown', '_run_exitfuncs'},
}
_AGENTS = [
  'sac',
  'td3',
  'd4pg',
  'ppo',
  'dqn',
  'impala',
  'r2d2',
  'bc',
  'value_dice',
  'ail',
]


def test_every_agent_imports_after_tensorflow():
  lines = ['import tensorflow', 'import compat']
  lines += [f'import acme.agents.jax.{agent}' for agent in _AGENTS]
  result = subprocess.run(
    [sys.executable, '-c', '\n'.join(lines)],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=240,
  )
  assert result.returncode == 0, result.stderr


def test_applying_twice_changes_nothing():
  tree_map = jax.tree_map
  patches.apply()
  assert jax.tree_map is tree_map


def test_another_jax_is_refused(monkeypatch):
  monkeypatch.setattr(jax, '__version__', '0.7.1')
  with pytest.raises(patches.IncompatibleVersionError, match='0.7.1.*make'):
    patches.apply()


def test_a_jax_that_lost_a_function_is_refused(monkeypatch):
  monkeypatch.delattr(jax.tree_util, 'tree_leaves')
  with pytest.raises(patches.IncompatibleVersionError, match='tree_leaves'):
    patches.apply()


def _private_parts(tree):
  """Returns the private names that a file uses and does not define."""
  opened, defined = set(), set()
  for node in ast.walk(tree):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
      defined.add(node.name)
    if isinstance(node, ast.Attribute) and node.attr.startswith('_'):
      owner = node.value
      is_own = isinstance(owner, ast.Name) and owner.id in ('self', 'cls')
      if is_own or ast.unparse(owner) == 'super()':
        defined.add(node.attr)
      elif not node.attr.startswith('__'):
        opened.add(node.attr)
  return opened - defined - _DOCUMENTED


def test_private_parts_are_opened_in_compat_alone():
  paths = [_ROOT / 'launch.py']
  for folder in _ROOT.iterdir():
    if (
      folder.name not in ('compat', 'tests')
      and (folder / '__init__.py').exists()
    ):
      paths += folder.rglob('*.py')
  found = {}
  for path in paths:
    name = path.relative_to(_ROOT).as_posix()
    parts = _private_parts(ast.parse(path.read_text()))
    if parts - _OF_PYTHON.get(name, set()):
      found[name] = parts
  assert len(paths) > 100
  assert not found
