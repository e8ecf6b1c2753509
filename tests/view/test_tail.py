"""Rows of a file that grows."""

import os

from tests.reporting import csv_files
from view import tail


def _append(path, text):
  with path.open('a') as f:
    f.write(text)


def test_rows_come_once_and_whole(tmp_path):
  csv_files.write(tmp_path, 'actor_0', ['time', 'x'], [(1, 10), (2, 20)], '3,')
  path = tmp_path / 'metrics' / 'actor_0.csv'
  it = tail.Tail(path)
  assert [row['x'] for row in it.poll()] == [10, 20]
  assert it.poll() == []
  _append(path, '30\n4,40\n')
  assert [row['x'] for row in it.poll()] == [30, 40]


def test_a_header_that_got_a_field_brings_no_row_again(tmp_path):
  csv_files.write(tmp_path, 'actor_0', ['time', 'x'], [(1, 10)])
  path = tmp_path / 'metrics' / 'actor_0.csv'
  it = tail.Tail(path)
  it.poll()
  (tmp_path / 'new').write_text('time,x,y\n1,10,\n2,20,5\n')
  os.replace(tmp_path / 'new', path)
  assert it.poll() == [{'time': 2.0, 'x': 20.0, 'y': 5.0}]


def test_of_many_rows_only_the_last_are_read(tmp_path):
  csv_files.write(tmp_path, 'actor_0', ['time', 'x'], [(0, 0)])
  path = tmp_path / 'metrics' / 'actor_0.csv'
  it = tail.Tail(path)
  it.poll()
  _append(path, ''.join(f'{i},{2 * i}\n' for i in range(1, 100_000)))
  rows = it.poll()
  assert rows[-1] == {'time': 99_999.0, 'x': 199_998.0}
  assert all(row['x'] == 2 * row['time'] for row in rows)
  assert len(rows) < 1000


def test_a_file_that_is_not_there_has_none(tmp_path):
  assert tail.Tail(tmp_path / 'actor_0.csv').poll() == []
