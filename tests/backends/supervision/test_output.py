"""Lines are printed, and a slow terminal does not delay the run."""

import io
import threading

import pytest

from backends.supervision import output
from tests import helpers


class _Terminal(io.StringIO):
  def isatty(self):
    return True


def test_names_are_coloured_on_a_terminal_only(monkeypatch):
  monkeypatch.setenv('TERM', 'xterm')
  monkeypatch.delenv('NO_COLOR', raising=False)
  terminal, file = _Terminal(), io.StringIO()
  for stream in (terminal, file):
    printer = output.Printer(stream)
    for label, index in (('actor', 0), ('learner', 0), ('actor', 1)):
      printer(label, index, 'hi')
  assert file.getvalue() == '[actor/0] hi\n[learner/0] hi\n[actor/1] hi\n'
  first, second, third = terminal.getvalue().splitlines()
  assert first.replace('actor/0', 'actor/1') == third
  assert first.split('m')[0] != second.split('m')[0]


@pytest.mark.parametrize('name, value', [('NO_COLOR', '1'), ('TERM', 'dumb')])
def test_names_are_not_coloured_if_the_user_does_not_want_it(
  name, value, monkeypatch
):
  monkeypatch.setenv(name, value)
  terminal = _Terminal()
  output.Printer(terminal)('actor', 0, 'hi')
  assert terminal.getvalue() == '[actor/0] hi\n'


def test_an_unknown_terminal_gets_no_colours(monkeypatch):
  monkeypatch.delenv('TERM', raising=False)
  monkeypatch.delenv('NO_COLOR', raising=False)
  terminal = _Terminal()
  output.Printer(terminal)('actor', 0, 'hi')
  assert terminal.getvalue() == '[actor/0] hi\n'


def test_lines_are_delivered_in_order_before_the_end():
  got = []
  sink = output.Sink(lambda *line: got.append(line), lambda: None)
  for i in range(100):
    sink.put('a', 0, str(i))
  sink.close(10)
  assert got == [('a', 0, str(i)) for i in range(100)]


def test_a_stuck_terminal_blocks_nobody_and_losses_are_counted():
  free = threading.Event()
  got = []

  def on_line(label, index, text):
    assert free.wait(20)
    got.append(text)

  sink = output.Sink(on_line, lambda: None)
  for i in range(20_000):
    sink.put('a', 0, str(i))
  free.set()
  helpers.wait_until(lambda: len(got) > 9_000, 'the lines in the queue')
  sink.put('a', 0, 'last')
  sink.close(20)
  assert got[-1] == 'last'
  assert 'lines not shown' in got[-2]
  lost = int(got[-2].strip('(').split()[0])
  assert len(got) - 2 + lost == 20_000


def test_lines_that_a_slow_terminal_has_not_shown_at_the_end_are_counted():
  got = []

  def on_line(label, index, text):
    got.append(text)
    helpers.wait_until(lambda: sink._queue.qsize() < 50, 'the lines to be left')

  sink = output.Sink(on_line, lambda: None)
  for i in range(100):
    sink.put('a', 0, str(i))
  helpers.wait_until(lambda: got, 'the first line')
  sink.close(1)
  assert got == ['0', '(99 lines not shown: the terminal is too slow)']


def test_a_terminal_that_wakes_after_the_end_gets_nothing_more():
  got = []
  free, taken = threading.Event(), threading.Event()

  def on_line(label, index, text):
    got.append(text)
    assert free.wait(20)
    taken.set()

  sink = output.Sink(on_line, lambda: None)
  for i in range(20_000):
    sink.put('a', 0, str(i))
  helpers.wait_until(lambda: got, 'the first line')
  sink.close(0.1)
  free.set()
  assert taken.wait(20)
  helpers.wait_until(
    lambda: 'lines' not in {t.name for t in threading.enumerate()},
    'the thread to end',
  )
  assert got == ['0']


def test_an_error_of_the_callback_is_reported_once():
  errors = []

  def on_line(label, index, text):
    raise ValueError(text)

  sink = output.Sink(on_line, lambda: errors.append(sink.error))
  for i in range(3):
    sink.put('a', 0, str(i))
  sink.close(10)
  assert [str(e) for e in errors] == ['0']
