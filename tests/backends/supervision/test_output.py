"""Lines out of pipes, and onto terminals."""

import io
import os
import threading

import pytest

from backends.supervision import logs as logs_lib
from backends.supervision import output
from system import line_reader
from tests import helpers
from tests.run_files import disks


@pytest.fixture
def pipe():
  reader, writer = os.pipe()
  yield line_reader.LineReader(reader), writer


def test_only_whole_lines_come_out_until_the_end(pipe):
  reader, writer = pipe
  assert reader.read() == []
  os.write(writer, b'one\ntw')
  assert reader.read() == ['one']
  os.write(writer, b'o\r\n\nthree')
  assert reader.read() == ['two', '']
  assert not reader.closed
  os.close(writer)
  assert reader.read() == ['three']
  assert reader.closed
  assert reader.close() == []


def test_a_pipe_that_others_hold_open_can_be_closed(pipe):
  reader, writer = pipe
  os.write(writer, b'one\nrest')
  assert reader.close() == ['one', 'rest']
  os.close(writer)


def test_a_line_without_end_is_cut(pipe):
  reader, writer = pipe
  written = 0
  lines = []
  for _ in range(40):
    written += os.write(writer, b'x' * 4096)
    lines += reader.read()
  os.close(writer)
  lines += reader.close()
  assert len(lines) > 1
  assert sum(map(len, lines)) == written


def test_bytes_that_are_no_text_are_shown(pipe):
  reader, writer = pipe
  os.write(writer, b'\xff\xfe ok\n')
  os.close(writer)
  assert reader.close() == ['\ufffd\ufffd ok']


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
def test_names_are_not_coloured_for_whoever_does_not_want_it(
  name, value, monkeypatch
):
  monkeypatch.setenv(name, value)
  terminal = _Terminal()
  output.Printer(terminal)('actor', 0, 'hi')
  assert terminal.getvalue() == '[actor/0] hi\n'


def test_a_terminal_that_nothing_is_known_of_gets_no_colours(monkeypatch):
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


def test_what_a_slow_terminal_has_not_shown_by_the_end_is_counted():
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


def test_the_tail_of_a_log_names_the_file_that_has_the_rest(tmp_path):
  sink = output.Sink(lambda *line: None, lambda: None)
  logs = logs_lib.Logs(str(tmp_path), sink)
  log = logs.open('a', 0, 'a_0')
  log.write([str(i) for i in range(25)])
  assert log.tail == [str(i) for i in range(25)]
  log.write(['25'])
  note, *lines = log.tail
  assert str(tmp_path / 'a_0.log') in note
  assert lines == [str(i) for i in range(1, 26)]
  logs.close()
  sink.close(10)


@pytest.fixture
def log(tmp_path):
  """A task's log, and the lines that the terminal got."""
  got = []
  sink = output.Sink(lambda *line: got.append(line[2]), lambda: None)
  logs = logs_lib.Logs(str(tmp_path), sink)

  def end():
    logs.close()
    sink.close(10)
    return got

  yield logs.open('a', 0, 'a_0'), end
  end()


def test_on_a_full_disk_lines_are_printed_and_then_missed_in_the_file(
  log, tmp_path
):
  log, end = log
  log.write(['first'])
  with disks.full(10):
    for line in ('second, which is long', 'third'):
      log.write([line])
  log.write(['last'])
  lines = end()
  assert [line for line in lines if 'a_0.log' not in line] == [
    *('first', 'second, which is long', 'third', 'last'),
  ]
  assert [line for line in lines if 'cannot be written now' in line]
  assert (tmp_path / 'a_0.log').read_text().splitlines() == [
    *('first', '(2 lines are missing here)', 'last'),
  ]


def test_the_end_of_a_run_does_not_fail_for_a_log_on_a_full_disk(log):
  log, end = log
  with disks.full():
    log.write(['lost'])
    assert 'lost' in end()


def test_a_folder_in_place_of_a_log_ends_nothing(log, tmp_path):
  log, end = log
  (tmp_path / 'a_0.log').mkdir()
  log.write(['one', 'two'])
  (tmp_path / 'a_0.log').rmdir()
  log.write(['three'])
  end()
  assert (tmp_path / 'a_0.log').read_text() == (
    '(2 lines are missing here)\nthree\n'
  )


def test_an_error_of_the_callback_is_reported_once():
  errors = []

  def on_line(label, index, text):
    raise ValueError(text)

  sink = output.Sink(on_line, lambda: errors.append(sink.error))
  for i in range(3):
    sink.put('a', 0, str(i))
  sink.close(10)
  assert [str(e) for e in errors] == ['0']
