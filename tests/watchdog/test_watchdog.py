"""What the watchdog says of a run of real processes that gets stuck."""

import os
import pathlib
import signal
import subprocess
import sys
import threading

import launchpad as lp
import pytest
import reverb

from backends.local import this_machine
from run_files import status
from tests import helpers
from watchdog import status_page, watchdog

_ROOT = pathlib.Path(__file__).parents[2]


def _tables():
  return [
    reverb.Table(
      'transitions',
      reverb.selectors.Uniform(),
      reverb.selectors.Fifo(),
      max_size=5,
      rate_limiter=reverb.rate_limiters.MinSize(10),
    )
  ]


def _insert(replay):
  for _ in range(20):
    replay.insert([1.0], {'transitions': 1.0})
  lp.wait_for_stop()


def _sample(replay):
  threading.Thread(
    target=lambda: list(replay.sample('transitions', 1)), daemon=True
  ).start()
  lp.wait_for_stop()


def _stop_when(path):
  while not lp.wait_for_stop(0.05):
    if os.path.exists(path):
      lp.stop()


def _program(run_dir):
  program = lp.Program('stuck')
  with program.group('replay'):
    replay = program.add_node(lp.ReverbNode(_tables))
  with program.group('actor'):
    program.add_node(lp.PyNode(_insert, replay))
  with program.group('learner'):
    program.add_node(lp.PyNode(_sample, replay))
  with program.group('stopper'):
    program.add_node(lp.PyNode(_stop_when, str(run_dir / 'seen')))
  return program


class _Said:
  """Keeps the watchdog's lines, and acts on them.

  `until` has it call a function once a line has all of some words.
  """

  def __init__(self):
    self.lines = []
    self._steps = []

  def until(self, *words, then):
    self._steps.append((words, then))
    return self

  def __call__(self, line):
    self.lines.append(line)
    if self._steps and all(word in line for word in self._steps[0][0]):
      self._steps.pop(0)[1]()


@pytest.fixture(scope='module')
def stuck(tmp_path_factory):
  """A run whose learner waits for ever, and whose replay is suspended later."""
  run_dir = tmp_path_factory.mktemp('stuck')
  pages = []

  def suspend():
    pages.append(status_page.page(run_dir))
    tasks = status.read(str(run_dir / 'logs')).tasks
    (pid,) = (task.pid for task in tasks if task.label == 'replay')
    os.kill(pid, signal.SIGSTOP)

  said = (
    _Said()
    .until('learner/0 waits for ever', then=suspend)
    .until('replay/0 does not answer', then=(run_dir / 'seen').touch)
  )
  with watchdog.Watchdog(run_dir, 2.0, said):
    result = this_machine.run(
      _program(run_dir),
      config=this_machine.RunConfig(
        preload=['reverb'], log_dir=str(run_dir / 'logs'), grace=3.0
      ),
      on_line=helpers.Lines(),
    )
  return run_dir, result, said.lines, pages


def test_names_the_table_that_never_fills(stuck):
  _, _, lines, _ = stuck
  assert any('no learner step for' in line.lower() for line in lines)
  (reason, *_) = (line for line in lines if 'for ever' in line)
  for words in ("replay/0's table 'transitions'", '5 items at most', '10'):
    assert words in reason


def test_names_the_server_that_does_not_answer(stuck):
  _, result, lines, _ = stuck
  (reason, *_) = (line for line in lines if 'does not answer' in line)
  assert 'learner/0 and actor/0 wait for it' in reason
  assert 'kill -CONT' in reason
  assert result.cause is None


def test_says_the_same_once(stuck):
  _, _, lines, _ = stuck
  assert sum('for ever' in line for line in lines) == 1


def test_a_status_shows_tasks_and_tables(stuck):
  *_, (page,) = stuck
  for words in (
    'running',
    'actor/0',
    '127.0.0.1:',
    'transitions: 5 of 5 items; 20 inserted',
    'learner/0 waits for ever',
  ):
    assert words in page


def _status(run_dir):
  return subprocess.run(
    [sys.executable, 'launch.py', 'status', run_dir],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )


def test_a_status_says_how_a_run_ended(stuck):
  run_dir, *_ = stuck
  result = _status(run_dir)
  assert result.returncode == 0, result.stderr
  assert 'ended with exit code 0' in result.stdout
  assert 'waits' not in result.stdout


def test_no_run_is_one_sentence(tmp_path):
  result = _status(tmp_path)
  assert result.returncode == 2
  assert len(result.stderr.splitlines()) == 1
  assert str(tmp_path) in result.stderr
