"""Metrics are read back from the ends of their files."""

from run_files import metrics


def _write(run_dir, name, header, rows):
  path = run_dir / 'metrics' / name
  path.parent.mkdir(exist_ok=True)
  path.write_text('\n'.join([header, *rows, '']))
  return path


def test_of_a_long_file_the_last_rows_are_read(tmp_path):
  rows = [f'{i},{2 * i}.5' for i in range(20_000)]
  path = _write(tmp_path, 'actor_3.csv', 'time,actor/steps', rows)
  assert path.stat().st_size > 2 * metrics._NEWEST_BYTES
  ((name, newest),) = metrics.read_newest(tmp_path).items()
  assert name == 'actor/3'
  assert newest[-1] == {'time': 19_999.0, 'actor/steps': 39_998.5}
  assert 100 < len(newest) < 20_000
  assert all(row['actor/steps'] == 2 * row['time'] + 0.5 for row in newest)


def test_a_short_file_is_read_without_its_torn_row(tmp_path):
  path = _write(tmp_path, 'learner_0.csv', 'time,learner/steps', ['1,10'])
  with path.open('a') as f:
    f.write('2,2')
  _write(tmp_path, 'actor_0.csv', 'time,actor/steps', [])
  newest = metrics.read_newest(tmp_path)
  assert newest == {
    'actor/0': [],
    'learner/0': [{'time': 1.0, 'learner/steps': 10.0}],
  }


def test_a_run_without_metrics_has_no_rows(tmp_path):
  assert metrics.read_newest(tmp_path) == {}
