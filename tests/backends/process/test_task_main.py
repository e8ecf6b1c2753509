"""A task receives the request to stop, whatever its main thread does."""

import time

import launchpad as lp

from tests import helpers


def _ask_again_and_again():
  while not lp.wait_for_stop(0):
    pass
  print('stopped')


def _stop_soon():
  time.sleep(0.3)
  lp.stop()


def test_a_task_that_asks_again_and_again_whether_to_stop_stops():
  # With Launchpad's own handler, this often waits for ever: the handler runs in
  # the main thread and needs a lock that the main thread holds.
  program = helpers.program(asks=[_ask_again_and_again] * 2, stops=_stop_soon)
  result, lines = helpers.run(program, grace=5.0)
  assert (result.exit_code, result.killed) == (0, ())
  assert lines.of('asks/0') == lines.of('asks/1') == ['stopped']
