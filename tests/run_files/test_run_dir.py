"""A run directory belongs to one process at a time."""

import pathlib
import subprocess
import sys

import pytest

from run_files import run_dir

_ROOT = pathlib.Path(__file__).parents[2]
_LOCK = """
import pathlib, sys
from run_files import run_dir
run_dir.lock(pathlib.Path(sys.argv[1]))
print('locked', flush=True)
sys.stdin.read()
"""


def test_a_directory_is_locked_until_its_process_ends(tmp_path):
  assert not run_dir.is_locked(tmp_path)
  with subprocess.Popen(
    [sys.executable, '-c', _LOCK, str(tmp_path)],
    cwd=_ROOT,
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
  ) as process:
    assert process.stdout.readline() == 'locked\n'
    assert run_dir.is_locked(tmp_path)
    with pytest.raises(ValueError, match='just beginning'):
      run_dir.lock(tmp_path)
    process.kill()
  assert not run_dir.is_locked(tmp_path)
  run_dir.lock(tmp_path)
  run_dir.remove_if_unused(tmp_path)
  assert not tmp_path.exists()


def test_only_an_unused_directory_is_removed(tmp_path):
  (tmp_path / 'empty').mkdir()
  run_dir.remove_if_unused(tmp_path / 'empty')
  assert not (tmp_path / 'empty').exists()
  (tmp_path / 'config.json').touch()
  run_dir.remove_if_unused(tmp_path)
  assert (tmp_path / 'config.json').exists()
