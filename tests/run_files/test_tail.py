"""Following a CSV file while it is written."""

from reporting import csv_logger
from run_files import tail


def _logger(tmp_path):
  return csv_logger.CSVLogger(str(tmp_path / 'actor_0.csv'))


def _read(follower):
  return [{k: row[k] for k in row if k != 'time'} for row in follower.read()]


def test_each_row_comes_once_even_if_columns_are_added(tmp_path):
  logger = _logger(tmp_path)
  logger.write({'a': 1, 'b': None})
  follower = tail.Tail(tmp_path / 'actor_0.csv', 0)
  assert _read(follower) == [{'a': 1}]
  assert _read(follower) == []
  logger.write({'a': 2})
  logger.write({'a': 3, 'c': 0.5})
  logger.write({'d': 'two\nlines'})
  assert _read(follower) == [{'a': 2}, {'a': 3, 'c': 0.5}, {'d': 'two lines'}]
  assert _read(follower) == []


def test_rows_that_were_read_before_are_skipped(tmp_path):
  logger = _logger(tmp_path)
  for value in range(5):
    logger.write({'a': value})
  follower = tail.Tail(tmp_path / 'actor_0.csv', 3)
  assert _read(follower) == [{'a': 3}, {'a': 4}]


def test_a_row_comes_once_it_is_whole_and_a_torn_row_never(tmp_path):
  path = tmp_path / 'actor_0.csv'
  follower = tail.Tail(path, 0)
  path.write_text('a,b')
  assert follower.read() == []
  path.write_text('a,b\n1,2\n3,')
  assert follower.read() == [{'a': 1, 'b': 2}]
  assert follower.read() == []
  # A logger that continues the file cuts the torn row off.
  _logger(tmp_path).write({'a': 5, 'b': 6})
  assert _read(follower) == [{'a': 5, 'b': 6}]
  assert tail.count(path) == 2


def test_a_long_file_comes_in_batches(tmp_path):
  path = tmp_path / 'actor_0.csv'
  path.write_text('a\n' + ''.join(f'{i}\n' for i in range(2500)))
  follower, values, sizes = tail.Tail(path, 0), [], []
  while rows := follower.read():
    values += [row['a'] for row in rows]
    sizes.append(len(rows))
  assert values == list(range(2500))
  assert max(sizes) <= 1000


def _values(rows):
  return [row['a'] for row in rows]


def test_the_newest_of_many_rows_can_be_read_alone(tmp_path):
  path = tmp_path / 'actor_0.csv'
  path.write_text('a,b\n0,0\n')
  follower = tail.Tail(path)
  assert follower.read_newest(2) == [{'a': 0, 'b': 0}]
  assert follower.read_newest(2) == []
  with path.open('a') as f:
    f.writelines(f'{i},{2 * i}\n' for i in range(1, 100_000))
    f.write('100000,')
  newest = follower.read_newest(2)
  assert newest == [{'a': i, 'b': 2 * i} for i in (99_998, 99_999)]
  assert follower.read_newest(2) == []


def test_a_header_that_gets_a_field_brings_no_row_again(tmp_path):
  logger = _logger(tmp_path)
  for value in range(5):
    logger.write({'a': value})
  follower = tail.Tail(tmp_path / 'actor_0.csv')
  assert _values(follower.read_newest(2)) == [3, 4]
  logger.write({'a': 5, 'b': 'x'})
  (row,) = follower.read_newest(2)
  assert (row['a'], row['b']) == (5, 'x')
  assert {'a', 'b'} & set(tail.numbers(row)) == {'a'}


def test_a_file_that_is_not_there_has_no_rows(tmp_path):
  follower = tail.Tail(tmp_path / 'actor_0.csv')
  assert follower.read() == follower.read_newest(2) == []
