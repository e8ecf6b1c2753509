"""Nothing is left of a process's private folder, however the process ends."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

from system import private_folder
from tests import helpers

_ROOT = pathlib.Path(__file__).parents[2]
_CODE = """
import time
from system import private_folder
with private_folder.folder('mine') as path:
  open(f'{path}/secret', 'w').close()
  print(path, flush=True)
  time.sleep(600)
"""
_MANY = """
import os
from system import private_folder
for _ in range(500):
  with private_folder.folder('mine') as path:
    open(f'{path}/secret', 'w').close()
    assert os.listdir(path) == ['secret']
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
  monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
  return tmp_path


def test_the_folder_exists_within_the_context(temporary):
  with private_folder.folder('mine') as path:
    assert [path] == [str(found) for found in temporary.iterdir()]
    assert os.stat(path).st_mode & 0o777 == 0o700
  assert not list(temporary.iterdir())


def test_the_next_process_removes_the_folder_of_a_killed_one(temporary):
  with subprocess.Popen(
    [sys.executable, '-c', _CODE],
    cwd=_ROOT,
    env={**os.environ, 'TMPDIR': str(temporary)},
    stdout=subprocess.PIPE,
    text=True,
  ) as process:
    left = pathlib.Path(process.stdout.readline().strip())
    with private_folder.folder('mine'):
      assert (left / 'secret').exists()
    process.send_signal(signal.SIGKILL)
  assert left.exists()
  with private_folder.folder('mine') as path:
    assert [path] == [str(found) for found in temporary.iterdir()]


def test_a_folder_that_another_process_removes_too_early_is_made_again(
  temporary, monkeypatch
):
  make, made = os.mkdir, []

  def make_and_lose(path, *args):
    make(path, *args)
    made.append(path)
    if len(made) == 1:
      os.rmdir(path)

  monkeypatch.setattr(os, 'mkdir', make_and_lose)
  with private_folder.folder('mine') as path:
    assert [path] == [str(found) for found in temporary.iterdir()]
  assert len(set(made)) == 2


def test_processes_that_start_together_keep_their_folders(temporary):
  processes = [
    subprocess.Popen(
      [sys.executable, '-c', _MANY],
      cwd=_ROOT,
      env={**os.environ, 'TMPDIR': str(temporary)},
    )
    for _ in range(4)
  ]
  assert [process.wait(60) for process in processes] == [0] * 4
  assert not list(temporary.iterdir())


def test_other_files_and_folders_stay(temporary):
  precious = temporary / 'precious'
  precious.mkdir()
  (precious / 'file').touch()
  (temporary / 'mine-run-link').symlink_to(precious)
  (temporary / 'mine-run-file').touch()
  (temporary / 'mine-other').mkdir()
  open_to_all = temporary / 'mine-run-open'
  open_to_all.mkdir()
  open_to_all.chmod(0o777)
  before = sorted(temporary.rglob('*'))
  if os.getuid() == 0:
    (temporary / 'mine-run-theirs').mkdir(mode=0o700)
    os.chown(temporary / 'mine-run-theirs', 12345, 12345)
    before = sorted(temporary.rglob('*'))
  with private_folder.folder('mine'):
    pass
  assert sorted(temporary.rglob('*')) == before


def test_temporary_files_of_tasks_are_removed(temporary):
  result, _ = helpers.run(helpers.program(node=lambda: tempfile.mkdtemp()))
  assert result.exit_code == 0
  assert not list(temporary.iterdir())
