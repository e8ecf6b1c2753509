"""What a result says of tasks and programs that fail."""

import os
import signal
import sys
import threading
import time

import launchpad as lp
import pytest

from backends.local import this_machine
from tests import helpers


def test_a_crash_ends_the_run_with_its_traceback(marker, capfd):
  def crash():
    os.environ['NOT_THERE']

  result, lines = helpers.run(
    helpers.program(crash=crash, other=lambda: lp.wait_for_stop())
  )
  assert result.exit_code == 1
  assert result.cause.task == 'crash/0'
  assert result.cause.exit_code == 1
  assert "KeyError: 'NOT_THERE'" in result.cause.lines[-1]
  assert "KeyError: 'NOT_THERE'" in lines.of('crash/0')
  *_, error, last = capfd.readouterr().err.splitlines()
  assert error == "KeyError: 'NOT_THERE'"
  assert last == 'The run failed: crash/0 exited with code 1.'


def test_of_a_long_cause_both_ends_are_told_and_where_the_rest_is(
  tmp_path, marker
):
  def crash():
    raise ValueError('\n'.join(f'part {i}' for i in range(100)))

  result, _ = helpers.run(helpers.program(crash=crash), log_dir=str(tmp_path))
  lines = result.cause.lines
  assert lines[0] == 'Traceback (most recent call last):'
  assert 'ValueError: part 0' in lines
  assert lines[-1] == 'part 99'
  (note,) = [line for line in lines if line.startswith('(...')]
  log = tmp_path / 'crash_0.log'
  assert note.endswith(f' lines, which are in {log} ...)')
  told = len(lines) - 1 + int(note.split()[1])
  assert told == len(log.read_text().splitlines())


class _BadNode:
  def __init__(self):
    raise RuntimeError('no such device')

  def run(self):
    pass


def test_a_crash_in_a_constructor(marker):
  program = helpers.program(other=lambda: lp.wait_for_stop())
  program.add_node(lp.CourierNode(_BadNode), label='bad')
  result, _ = helpers.run(program)
  assert result.exit_code == 1
  assert result.cause.task == 'bad/0'
  assert result.cause.lines[-1] == 'RuntimeError: no such device'


def test_a_signal_is_named_and_a_fault_located(marker):
  def fault():
    import faulthandler

    faulthandler._sigsegv()

  result, _ = helpers.run(helpers.program(fault=fault))
  assert result.exit_code == 1
  assert result.cause.signal == 'SIGSEGV'
  assert any('Segmentation fault' in line for line in result.cause.lines)
  assert 'SIGSEGV' in str(result.cause).splitlines()[-1]


def test_an_exit_code_without_traceback_shows_the_last_output(marker):
  def leave():
    print('disk full')
    sys.exit(3)

  result, _ = helpers.run(helpers.program(node=leave))
  assert result.exit_code == 1
  assert result.cause.exit_code == 3
  assert result.cause.lines[-1] == 'disk full'


def test_a_failing_line_callback_ends_the_run(marker):
  def on_line(label, index, text):
    raise BrokenPipeError('nobody reads')

  def talk():
    while not lp.wait_for_stop(0.01):
      print('hello')

  result = this_machine.run(helpers.program(talker=talk), on_line=on_line)
  assert result.exit_code == 1
  assert result.cause.task == 'launcher'
  assert result.cause.lines[-1] == 'BrokenPipeError: nobody reads'


def test_a_parent_that_is_killed_fails_the_run(marker):
  def kill_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)

  result, _ = helpers.run(helpers.program(node=kill_parent))
  assert result.exit_code == 1
  assert result.cause.task == 'zygote'
  assert result.cause.signal == 'SIGKILL'


def test_a_preload_that_fails_is_the_cause(marker):
  result, _ = helpers.run(
    helpers.program(node=lambda: None), preload=['no_such_module']
  )
  assert result.exit_code == 1
  assert result.cause.task == 'zygote'
  assert "No module named 'no_such_module'" in result.cause.lines[-1]


def test_nodes_that_cannot_be_pickled_are_refused(marker):
  lock = threading.Lock()
  with pytest.raises(RuntimeError, match='locked/0'):
    this_machine.run(helpers.program(locked=lambda: lock.acquire()))


def test_an_empty_program_is_refused():
  with pytest.raises(ValueError, match='no nodes'):
    this_machine.run(lp.Program('empty'))


def test_a_stop_order_of_plain_labels_is_refused():
  with pytest.raises(ValueError, match='sequence of sequences'):
    this_machine.RunConfig(stop_order=['actor', 'learner'])
