"""The view on a pseudo-terminal, without a run."""

import os
import re
import subprocess
import sys

from tests.view import terminals

_PROLOGUE = """
import os, pathlib, sys, time
from cli import printing
from system import streams
from view import frame, live
goal = frame.Goal('sac on x', num_steps=10)
printer = printing.Printer(coloured=streams.takes_colours(sys.stdout))
def show():
  return live.show(pathlib.Path(sys.argv[1]), goal, printer)
"""
_SHOW = """
with show():
  printer('actor', 0, '[actor/0]     steps 200')
  printer('actor', 0, 'a line \\033[2Jof a task')
  time.sleep(0.8)
  print('printed here')
  os.write(2, b'written by C\\n')
  time.sleep(0.8)
print('imported' if 'rich' in sys.modules else 'spared', 'rich')
"""
_ROW = 'steps 200'


def _plain(text):
  return re.sub(r'\033\[[\d;?]*[A-Za-z]', '', text)


def _show(tmp_path, code=_SHOW, **env):
  exit_code, output = terminals.run(
    '-c', _PROLOGUE + code, str(tmp_path), **env
  )
  assert exit_code == 0, output
  return output


def test_lines_come_out_above_the_view_and_rows_do_not(tmp_path):
  output = _show(tmp_path)
  lines = [line.strip('\r') for line in _plain(output).splitlines()]
  assert '[actor/0] a line of a task' in lines
  assert 'printed here' in lines
  assert 'written by C' in lines
  assert any(line.startswith('sac on x') for line in lines)
  assert _ROW not in output
  assert '\033[2J' not in output
  # The cursor was never hidden, so nothing can leave it so.
  assert '\033[?25' not in output
  assert lines[-1] == 'imported rich'


def test_no_color_is_heeded(tmp_path):
  assert re.search(r'\033\[[\d;]*3[0-7]m', _show(tmp_path))
  output = _show(tmp_path, NO_COLOR='1')
  assert 'sac on x' in _plain(output)
  assert not re.search(r'\033\[[\d;]*3[0-7]m', output)


def test_a_dumb_terminal_gets_plain_lines(tmp_path):
  output = _show(tmp_path, TERM='dumb')
  assert output.splitlines() == [
    '[actor/0]     steps 200',
    '[actor/0] a line of a task',
    'printed here',
    'written by C',
    'spared rich',
  ]


def test_the_last_lines_cannot_garble_the_terminal(tmp_path):
  code = """
with show():
  end = live.capture.Capture.end
  def late(self):
    printer('actor', 0, 'before \033[?1049hthe end')
    lines = end(self)
    printer('actor', 0, 'after \033[?25lthe end')
    return lines
  live.capture.Capture.end = late
"""
  output = _show(tmp_path, code)
  assert '\033[?' not in output
  assert '[actor/0] before the end' in _plain(output)
  assert '[actor/0] after the end' in _plain(output)


def test_a_pipe_gets_plain_lines(tmp_path):
  result = subprocess.run(
    [sys.executable, '-c', _PROLOGUE + _SHOW, str(tmp_path)],
    cwd=terminals.ROOT,
    env={**os.environ, 'TERM': 'xterm-256color'},
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert result.stdout.splitlines() == [
    '[actor/0]     steps 200',
    '[actor/0] a line \033[2Jof a task',
    'printed here',
    'spared rich',
  ]


def test_a_fault_of_the_view_is_shown_and_then_lines_are_plain(tmp_path):
  code = 'live.gather.Gatherer.look = lambda self: 1 / 0\n' + _SHOW.replace(
    '  os.write', "  printer('actor', 0, '[actor/0]     later')\n  os.write"
  )
  output = _plain(_show(tmp_path, code))
  assert 'ZeroDivisionError' in output
  assert 'The view has ended; the run goes on.' in output
  assert '[actor/0]     later' in output
  assert 'written by C' in output


def test_an_exception_is_shown_whole_after_the_view(tmp_path):
  code = _SHOW.replace("print('printed here')", "raise ValueError('x' * 200)")
  exit_code, output = terminals.run('-c', _PROLOGUE + code, str(tmp_path))
  assert exit_code == 1
  after = output.rpartition('\033[J')[2].splitlines()
  assert after[0] == 'Traceback (most recent call last):'
  assert after[-1] == f'ValueError: {"x" * 200}'
