"""A signal ends launchers and daemons that wait for each other."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest

from tests import helpers
from tests.e2e import runs

_STOPS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


def test_a_launcher_that_waits_for_daemons_leaves_nothing(tmp_path):
  with contextlib.ExitStack() as stack:
    launchers = {}
    for signum in _STOPS:
      folder = tmp_path / signum.name
      folder.mkdir()
      launchers[signum] = stack.enter_context(
        helpers.launcher('joining', folder)
      )
    for signum, launcher in launchers.items():
      folder = launcher.directory
      helpers.wait_until(lambda f=folder: [*f.glob('.nodes-*')], 'the wait')
      launcher.process.send_signal(signum)
      code, _, error = launcher.end()
      assert (code, error) == (128 + signum, '')
      assert not [*folder.glob('.nodes-*')]
      helpers.assert_nothing_left(launcher.marker)


def _handles(pid, signum):
  with open(f'/proc/{pid}/status') as f:
    (mask,) = (line.split()[1] for line in f if line.startswith('SigCgt'))
  return bool(int(mask, 16) >> (signum - 1) & 1)


@contextlib.contextmanager
def _daemon(folder, port):
  (folder / 'key').write_text('the key')
  process = subprocess.Popen(
    [
      *(sys.executable, '-m', 'backends.cluster.join', f'127.0.0.1:{port}'),
      *('task/0', str(folder / 'key')),
    ],
    cwd=runs.ROOT,
    env={**os.environ, helpers.MARKER: str(folder)},
  )
  try:
    yield process
  finally:
    process.kill()
    process.wait()


@pytest.mark.parametrize('when', ['imports', 'waits'])
def test_a_daemon_that_no_launcher_has_let_in_ends_at_once(tmp_path, when):
  with (
    socket.create_server(('127.0.0.1', 0)) as listener,
    _daemon(tmp_path, listener.getsockname()[1]) as daemon,
  ):
    if when == 'imports':
      helpers.wait_until(
        lambda: _handles(daemon.pid, signal.SIGTERM), 'its first line'
      )
    else:
      listener.settimeout(60)
      listener.accept()
    daemon.terminate()
    # Without a handler it would be the signal itself, to which the first
    # process of a container is deaf.
    assert daemon.wait(30) == 128 + signal.SIGTERM
