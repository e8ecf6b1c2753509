"""Of a process's own folder nothing is left, however the process ends."""

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


@pytest.fixture
def temporary(tmp_path, monkeypatch):
  monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
  return tmp_path


def test_it_is_there_meanwhile(temporary):
  with private_folder.folder('mine') as path:
    assert [path] == [str(found) for found in temporary.iterdir()]
    assert os.stat(path).st_mode & 0o777 == 0o700
  assert not list(temporary.iterdir())


def test_what_a_killed_process_has_left_the_next_removes(temporary):
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


def test_what_is_not_such_a_folder_stays(temporary):
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


def test_what_tasks_leave_in_the_temporary_folder_goes(temporary):
  result, _ = helpers.run(helpers.program(node=lambda: tempfile.mkdtemp()))
  assert result.exit_code == 0
  assert not list(temporary.iterdir())
