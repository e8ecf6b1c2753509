"""Acme imports on today's JAX, wherever TensorFlow came first."""

import pathlib
import subprocess
import sys

from compat import patches

import jax
import pytest

_ROOT = pathlib.Path(__file__).parents[1]
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
