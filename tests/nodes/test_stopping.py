"""A stop ends a node that is being made, or that has started a thread."""

import threading

import compat  # noqa: F401

import launchpad as lp
import pytest

from nodes import worker
from tests import helpers


def _stop_once_there(path):
  helpers.wait_until(path.exists, f'{path}')
  lp.stop()


class _Node(worker.Node):
  """A node that is never made: its constructor waits for ever."""

  def __init__(self, path):
    super().__init__(self._wait, path)

  @staticmethod
  def _wait(path):
    path.touch()
    helpers.wait_until(lambda: False, 'nothing', timeout=600)


def _make_forever(path):
  worker.make(lambda: _Node._wait(path))


@pytest.mark.parametrize('kind', ['node', 'server'])
def test_a_stop_ends_a_node_that_is_still_being_made(tmp_path, kind):
  path = tmp_path / 'waits'
  program = lp.Program('making')
  with program.group('maker'):
    program.add_node(
      _Node(path) if kind == 'node' else lp.PyNode(_make_forever, path)
    )
  with program.group('stopper'):
    program.add_node(lp.PyNode(_stop_once_there, path))
  result, lines = helpers.run(program, preload=['nodes.worker'])
  assert (result.exit_code, result.killed) == (0, ()), lines.all
  assert not lines.of('maker/0')


def test_a_thread_that_a_task_started_does_not_keep_it_alive(tmp_path):
  path = tmp_path / 'waits'

  def waits():
    threading.Thread(target=threading.Event().wait).start()
    path.touch()
    lp.wait_for_stop()

  program = helpers.program(waits=waits, stopper=lambda: _stop_once_there(path))
  result, lines = helpers.run(program)
  assert (result.exit_code, result.killed) == (0, ()), lines.all
