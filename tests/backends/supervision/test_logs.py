"""The log files of the lines that tasks print, also on a full disk."""

import pytest

from backends.supervision import logs as logs_lib
from backends.supervision import output
from tests.run_files import disks


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
  """A task's log, and a function that closes it and returns printed lines."""
  got = []
  sink = output.Sink(lambda *line: got.append(line[2]), lambda: None)
  logs = logs_lib.Logs(str(tmp_path), sink)

  def end():
    logs.close()
    sink.close(10)
    return got

  yield logs.open('a', 0, 'a_0'), end
  end()


def test_on_a_full_disk_lines_are_printed_and_counted_as_missing_in_the_file(
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


def test_a_run_goes_on_if_a_folder_has_the_name_of_a_log(log, tmp_path):
  log, end = log
  (tmp_path / 'a_0.log').mkdir()
  log.write(['one', 'two'])
  (tmp_path / 'a_0.log').rmdir()
  log.write(['three'])
  end()
  assert (tmp_path / 'a_0.log').read_text() == (
    '(2 lines are missing here)\nthree\n'
  )
