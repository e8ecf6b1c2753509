"""How a run ends: by itself, by `lp.stop()`, or by force."""

import os
import signal
import sys
import threading
import time

import launchpad as lp
import pytest

from backends.local import this_machine
from run_files import status
from tests import helpers


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_ends_when_all_nodes_have_ended(start, marker):
  result, lines = helpers.run(
    helpers.program(
      one=lambda: print('out', file=sys.stdout),
      two=[lambda: print('err', file=sys.stderr), lambda: None],
    ),
    start=start,
  )
  assert (result.exit_code, result.cause, result.killed) == (0, None, ())
  assert result.restarts == {'one/0': 0, 'two/0': 0, 'two/1': 0}
  assert lines.of('one/0') == ['out']
  assert lines.of('two/0') == ['err']


def test_stop_from_a_node(marker):
  def polite():
    lp.wait_for_stop()
    print('saved')

  result, lines = helpers.run(
    helpers.program(stopper=lambda: lp.stop(), polite=[polite, polite])
  )
  assert result.exit_code == 0
  assert result.killed == ()
  assert lines.of('polite/0') == lines.of('polite/1') == ['saved']


def test_stop_when_another_thread_takes_the_signal(marker, tmp_path):
  def polite():
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    (tmp_path / 'blocked').touch()
    lp.wait_for_stop()
    print('saved')

  def stopper():
    helpers.wait_until(
      (tmp_path / 'blocked').exists, 'the signal to be blocked'
    )
    lp.stop()

  result, lines = helpers.run(helpers.program(polite=polite, stopper=stopper))
  assert result.killed == ()
  assert lines.of('polite/0') == ['saved']


def test_a_failure_while_stopping_is_a_failure(marker):
  def save():
    lp.wait_for_stop()
    raise OSError('disk full')

  result, _ = helpers.run(
    helpers.program(stopper=lambda: lp.stop(), learner=save)
  )
  assert result.exit_code == 1
  assert result.cause.task == 'learner/0'


def test_a_crash_before_its_turn_to_stop_is_forgiven_by_its_policy(
  marker, tmp_path
):
  def client():
    lp.wait_for_stop()
    (tmp_path / 'stopping').touch()
    helpers.wait_until(
      lambda: status.read(str(tmp_path)).tasks[1].state == 'failed',
      'the launcher to see the crash',
    )

  def server():
    helpers.wait_until((tmp_path / 'stopping').exists, 'the client to stop')
    os.kill(os.getpid(), signal.SIGKILL)

  result, lines = helpers.run(
    helpers.program(client=client, server=server, stopper=lambda: lp.stop()),
    stop_order=[['client'], ['server']],
    restart={'server': this_machine.RestartPolicy()},
    log_dir=str(tmp_path),
  )
  assert (result.exit_code, result.cause) == (0, None)
  assert any('server/0 ended with SIGKILL' in x for x in lines.of('launcher/0'))


def test_what_does_not_stop_is_killed_and_named(marker):
  def stubborn():
    print('on and on')
    while True:
      time.sleep(1)

  result, _ = helpers.run(
    helpers.program(
      stubborn=stubborn,
      stopper=lambda: lp.stop(),
    ),
    grace=0.5,
  )
  assert result.exit_code == 0
  assert result.killed == ('stubborn/0',)


def test_stop_handlers_of_launchpad(marker, tmp_path):
  def handled():
    stopped = threading.Event()
    lp.register_stop_handler(stopped.set)
    (tmp_path / 'handled').touch()
    assert stopped.wait(20)
    print('handled')

  def event():
    assert lp.stop_event().wait(20)
    print('event')

  def waited():
    while not lp.wait_for_stop(0.05):
      pass
    print('waited')

  def stopper():
    helpers.wait_until((tmp_path / 'handled').exists, 'the handler')
    lp.stop()

  result, lines = helpers.run(
    helpers.program(
      handled=handled, event=event, waited=waited, stopper=stopper
    )
  )
  assert result.exit_code == 0
  for name in ('handled', 'event', 'waited'):
    assert lines.of(f'{name}/0') == [name]
