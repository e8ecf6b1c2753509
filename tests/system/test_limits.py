"""If the user may have no more threads, the run's end says what to do."""

import threading

import pytest

from tests import helpers
from watchdog import watchdog


def _refused():
  raise RuntimeError("can't start new thread")


def _aborts():
  print('E0101 thd.cc:157] pthread_create failed: Resource temporarily')
  print('\n'.join(f'frame {i} of what a library dumps' for i in range(50)))
  raise ValueError('something else')


@pytest.mark.parametrize('node', [_refused, _aborts])
def test_the_cause_says_what_to_raise(node):
  result, _ = helpers.run(helpers.program(node=node))
  assert result.exit_code == 1
  assert '`ulimit -u`' in result.cause.lines[-1]


def test_other_causes_say_nothing_of_the_limit():
  def fails():
    raise ValueError('something else')

  result, _ = helpers.run(helpers.program(node=fails))
  assert 'ulimit' not in str(result.cause)


@pytest.mark.timeout(60)
def test_a_watchdog_that_waits_in_a_library_does_not_hold_up_the_end(
  tmp_path, monkeypatch
):
  waits, is_over = threading.Event(), threading.Event()

  def look(run_dir):
    waits.set()
    is_over.wait()
    raise FileNotFoundError

  monkeypatch.setattr(watchdog.snapshot_lib, 'take', look)
  try:
    with watchdog.Watchdog(tmp_path, 0.01, print):
      assert waits.wait(20)
  finally:
    is_over.set()
