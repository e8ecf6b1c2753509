"""Launchers that get a signal, are interrupted or are killed."""

import signal
import time

import pytest

from run_files import status
from tests import helpers

_UP = ('server', 'learner', 'actor')


def _wait_for_all(launcher):
  for name in _UP:
    launcher.wait_for_file(f'{name}.up')


@pytest.mark.parametrize(
  'how, exit_code',
  [('terminal', 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_stops_in_order(tmp_path, how, exit_code):
  with helpers.launcher('staged', tmp_path) as launcher:
    _wait_for_all(launcher)
    if how == 'terminal':
      launcher.interrupt_terminal()
    else:
      launcher.process.send_signal(how)
    code, _, _ = launcher.end()
  assert code == exit_code
  server, learner, actor = (
    float((tmp_path / f'{name}.down').read_text()) for name in _UP
  )
  # Each takes 0.2 s to stop, and is asked only when the one before has stopped.
  assert actor + 0.2 <= learner
  assert learner + 0.2 <= server
  helpers.assert_nothing_left(launcher.marker)


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_a_killed_launcher_leaves_nothing(tmp_path, start):
  with helpers.launcher('stubborn', tmp_path, start, '60') as launcher:
    for name in ('polite.up', 'stubborn.up', 'child.up'):
      launcher.wait_for_file(name)
    assert len(helpers.marked(launcher.marker)) == 5
    launcher.process.kill()
    helpers.assert_nothing_left(launcher.marker)
  assert not status.read(str(tmp_path)).alive


def test_the_second_interrupt_kills(tmp_path):
  with helpers.launcher('stubborn', tmp_path, 'fork', '600') as launcher:
    for name in ('polite.up', 'stubborn.up', 'child.up'):
      launcher.wait_for_file(name)
    # So does `timeout`, which passes on the signal that it gets itself.
    launcher.interrupt_terminal()
    launcher.process.send_signal(signal.SIGINT)
    launcher.wait_for_file('polite.down')
    time.sleep(1)
    assert launcher.process.poll() is None
    launcher.interrupt_terminal()
    code, _, _ = launcher.end()
  assert code == 130
  helpers.assert_nothing_left(launcher.marker)


def test_after_the_grace_all_is_killed(tmp_path):
  with helpers.launcher('stubborn', tmp_path, 'fork', '1') as launcher:
    for name in ('polite.up', 'stubborn.up', 'child.up'):
      launcher.wait_for_file(name)
    launcher.process.terminate()
    code, out, _ = launcher.end()
  assert code == 143
  assert 'Not stopped within 1 s, killing: stubborn/0.' in out
  helpers.assert_nothing_left(launcher.marker)


@pytest.mark.parametrize('signum', [signal.SIGINT, signal.SIGKILL])
def test_ended_while_it_imports(tmp_path, signum):
  with helpers.launcher('preloading', tmp_path) as launcher:
    launcher.wait_for_file('importing')
    launcher.process.send_signal(signum)
    code, _, _ = launcher.end()
  assert code == (130 if signum == signal.SIGINT else -signal.SIGKILL)
  helpers.assert_nothing_left(launcher.marker)


def test_the_cause_is_the_last_word(tmp_path):
  with helpers.launcher('crashing', tmp_path) as launcher:
    code, out, err = launcher.end()
  assert code == 1
  *_, error, last = err.splitlines()
  assert error == 'ValueError: the very first cause'
  assert last == 'The run failed: crash/0 exited with code 1.'
  assert '[noisy/0] noise\n' in out
