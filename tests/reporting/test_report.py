"""The page that compares runs, from run directories as runs leave them."""

import html.parser
import json
import pathlib
import re
import socket
import subprocess
import sys

import pytest

from reporting import report, run_groups
from tests.reporting import csv_files

_ROOT = pathlib.Path(__file__).parents[2]
_EVALUATIONS = ['time', 'actor/steps', 'evaluator/episode_return']
_ACTORS = ['time', 'actor/steps', 'weights/lag_versions']
_LEARNER = ['time', 'learner/steps', 'learner/critic_loss']


@pytest.fixture
def make_run(tmp_path):
  """Returns `make(name, **settings)`, which writes a run that goes on."""

  def make(name, **settings):
    path = tmp_path / name
    returns = [(i, 100 * i, i - 10) for i in range(1, 10)]
    csv_files.write(path, 'evaluator_0', _EVALUATIONS, returns)
    steps = [(i, 100 * i, i % 3) for i in range(1, 10)]
    csv_files.write(path, 'actor_0', _ACTORS, steps)
    losses = [(i, 10 * i, 1 / i) for i in range(1, 10)]
    csv_files.write(path, 'learner_0', _LEARNER, losses)
    config = {'agent': 'sac', 'env': 'gym:A-v0', 'seed': 0, 'config': ''}
    (path / 'config.json').write_text(json.dumps({**config, **settings}))
    return path

  return make


class _Page(html.parser.HTMLParser):
  """What a reader sees of a page: its figures, and its tables' cells."""

  def __init__(self, path):
    super().__init__()
    self.tables, self.figures, self.tags, self._in = [], {}, set(), []
    self.source = path.read_text()
    self.feed(self.source)
    self.tables = [
      [[' '.join(cell.split()) for cell in row] for row in table]
      for table in self.tables
    ]
    for part in re.findall('<figure>.*?</figure>', self.source, re.DOTALL):
      name = re.search('aria-label="([^"]*)"', part).group(1)
      self.figures[name] = part

  def handle_starttag(self, tag, attrs):
    self.tags.add(tag)
    self._in.append(tag)
    if tag == 'table':
      self.tables.append([])
    elif tag == 'tr':
      self.tables[-1].append([])
    elif tag in ('th', 'td'):
      self.tables[-1][-1].append('')
    elif tag == 'small':
      # It begins a line of its own.
      self.handle_data(' ')

  def handle_endtag(self, tag):
    while self._in and self._in.pop() != tag:
      pass

  def handle_data(self, data):
    if {'td', 'th'} & set(self._in):
      self.tables[-1][-1][-1] += data


def _bands(figure: str) -> int:
  return figure.count('fill-opacity')


def _lines(figure: str) -> int:
  return figure.count('stroke-width="2"')


def test_seeds_are_one_line_with_a_band(make_run):
  seeds = [make_run(f's{seed}', seed=seed) for seed in range(3)]
  other = make_run('other', agent='td3')
  page = _Page(report.write([*seeds, other]))
  assert len(page.figures) == 6
  for figure in page.figures.values():
    assert (_lines(figure), _bands(figure)) == (2, 1)
  summary = page.tables[0]
  assert [row[0].split()[0] for row in summary[1:]] == [
    *('sac', 'seed', 'seed', 'seed', 'td3')
  ]
  assert summary[1][1] == '−3.0 −3.0 to −3.0'
  assert summary[2][1:] == ['−3.0', '900', '90', '8.0', 'unknown']


def test_a_band_goes_from_the_lowest_to_the_highest(make_run):
  seeds = [make_run(f's{seed}', seed=seed) for seed in range(2)]
  rows = [(i, 100 * i, 1000.0) for i in range(1, 20)]
  csv_files.write(seeds[1], 'evaluator_0', _EVALUATIONS, rows)
  page = _Page(report.write(seeds))
  assert page.tables[0][1][1] == '498.5 −3.0 to 1,000.0'


def test_settings_that_differ_have_a_column(make_run):
  first = make_run('a', config='batch_size=64,learning_rate=3e-4')
  same = make_run('b', seed=1, config='learning_rate=0.0003, batch_size=64')
  third = make_run('c', config='batch_size=64', num_actors=4)
  page = _Page(report.write([first, same, third]))
  settings = page.tables[1]
  assert settings[0] == ['', 'learning_rate', 'num_actors']
  assert settings[1] == ['learning_rate=0.0003', '0.0003', 'default']
  assert settings[2] == ['learning_rate=default', 'default', '4']
  assert 'batch_size 64' in page.source


def test_a_label_says_no_more_than_tells_runs_apart(make_run):
  each = [
    make_run('a'),
    make_run('b', agent='td3', record=True, config='batch_size=8'),
    make_run('c', agent='td3', config='batch_size=16'),
  ]
  labels = [
    group.label for group in run_groups.group([*map(run_groups.load, each)])
  ]
  assert labels == ['sac', 'td3, record=true', 'td3']


def test_returns_of_different_environments_are_in_figures_of_their_own(
  make_run,
):
  page = _Page(report.write([make_run('a'), make_run('b', env='gym:B-v0')]))
  for env in ('A', 'B'):
    for axis in ('actor steps', 'wall time, seconds'):
      figure = page.figures[f'Return in gym:{env}-v0 against {axis}']
      assert _lines(figure) == 1


def test_a_run_alone_needs_no_legend_and_no_table_of_settings(make_run):
  page = _Page(report.write([make_run('a')]))
  assert 'ul' not in page.tags
  assert len(page.tables) == 1


def test_text_from_files_is_escaped(make_run):
  evil = '<script>alert(1)</script>'
  run = make_run('<b>&', env=f'gym:{evil}', config='x="\'<i>')
  fields = [*_LEARNER[:2], f'learner/{evil}_loss']
  csv_files.write(run, 'learner_0', fields, [(1, 10, 1), (2, 20, 2)])
  page = _Page(report.write([run, make_run('b')]))
  assert not {'script', 'b', 'i'} & page.tags
  assert page.source.count('&lt;script&gt;alert(1)&lt;/script&gt;') >= 3


def test_the_page_needs_no_other_file(make_run):
  page = _Page(report.write([make_run('a')]))
  assert not {'script', 'link', 'img', 'iframe'} & page.tags
  assert not re.search('https?:|url\\(|@import', page.source)


def test_a_killed_run_is_told_up_to_its_torn_row(make_run):
  run = make_run('a')
  with (run / 'metrics' / 'evaluator_0.csv').open('a') as f:
    f.write('10,1000,-1')
  with (run / 'metrics' / 'actor_0.csv').open('a') as f:
    f.write('10,10')
  (run / 'logs').mkdir()
  launcher = {
    'pid': 1,
    'process_start': 'never',
    'host': socket.gethostname(),
    'state': 'running',
    'exit_code': None,
  }
  state = json.dumps({'launcher': launcher, 'tasks': []})
  (run / 'logs' / 'status.json').write_text(state)
  page = _Page(report.write([run]))
  assert page.tables[0][1][1:] == ['−3.0', '900', '90', '8.0', 'killed']


@pytest.mark.parametrize('fields', [_EVALUATIONS, []])
def test_a_run_without_evaluations(make_run, fields):
  run = make_run('a')
  csv_files.write(run, 'evaluator_0', fields, [])
  page = _Page(report.write([run]))
  assert 'Nothing was written yet' in page.figures['Return against actor steps']
  assert page.tables[0][1][1] == '–'
  seeds = _Page(report.write([run, make_run('b', seed=1)]))
  assert _lines(seeds.figures['Return against actor steps']) == 1
  assert seeds.tables[0][1][1] == '−3.0 −3.0 to −3.0'


def test_a_run_that_wrote_nothing_yet(tmp_path):
  (tmp_path / 'config.json').write_text('{"agent": "sac", "env": "gym:A"}')
  page = _Page(report.write([tmp_path]))
  assert page.tables[0][1][1:5] == ['–', '–', '–', '0.0']
  assert len(page.figures) == 5


def test_what_is_not_finite_is_counted(make_run):
  run = make_run('a')
  rows = [(1, 1, 0.5), (2, 2, 'nan'), (3, 3, 'inf'), (4, 4, 0.25)]
  csv_files.write(run, 'learner_0', _LEARNER, rows)
  page = _Page(report.write([run]))
  (name,) = [name for name in page.figures if name.startswith('critic_loss')]
  assert name.endswith('2 values not finite')
  assert 'nan' not in page.source.lower()


def test_a_run_offline_counts_the_learners_steps(make_run):
  run = make_run('a', program='offline')
  (run / 'metrics' / 'actor_0.csv').unlink()
  fields = ['time', 'learner/steps', 'evaluator/episode_return']
  csv_files.write(run, 'evaluator_0', fields, [(1, 10, -5), (2, 20, -3)])
  page = _Page(report.write([run]))
  assert _lines(page.figures['Return against learner steps']) == 1
  assert page.tables[0][1][1:4] == ['−4.0', '–', '90']


def test_a_rest_before_a_resume_is_no_wall_time(make_run):
  run = make_run('a')
  rows = [(0, 100, 0), (100, 200, 0), (90_000, 300, 0), (90_050, 400, 0)]
  for name in ('learner_0', 'evaluator_0'):
    (run / 'metrics' / f'{name}.csv').unlink()
  csv_files.write(run, 'actor_0', _ACTORS, rows)
  assert run_groups.load(run).wall_time == 150.0


def _launch(*words):
  return subprocess.run(
    [sys.executable, 'launch.py', 'report', *map(str, words)],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )


def test_the_verb_takes_directories_of_any_name(make_run, tmp_path):
  names = ('with,comma', 'b', 'c', 'd')
  a, b, c, d = (make_run(name, seed=i) for i, name in enumerate(names))
  result = _launch(a, b, c, d, a)
  assert result.returncode == 0, result.stderr
  assert result.stdout.strip() == str(a / 'report.html')
  assert len(_Page(a / 'report.html').tables[0]) == 1 + 1 + len(names)
  result = _launch(b, f'--output={tmp_path / "page.html"}')
  assert result.returncode == 0, result.stderr
  assert 'seed 1' in _Page(tmp_path / 'page.html').tables[0][1][0]


@pytest.mark.parametrize(
  'config, expected',
  [
    ('{"agent": ', 'config.json is damaged'),
    ('[]', 'config.json is damaged'),
  ],
)
def test_a_damaged_run_is_refused(make_run, tmp_path, config, expected):
  run = make_run('a')
  (tmp_path / 'other').mkdir()
  (tmp_path / 'other' / 'config.json').write_text(config)
  result = _launch(run, tmp_path / 'other')
  assert (result.returncode, result.stdout) == (1, '')
  assert len(result.stderr.splitlines()) == 1
  assert str(tmp_path / 'other') in result.stderr
  assert expected in result.stderr
  assert not (run / 'report.html').exists()


def test_a_directory_without_a_run_is_left_out(make_run, tmp_path):
  run = make_run('a')
  (tmp_path / 'other').mkdir()
  result = _launch(run, tmp_path / 'other')
  assert result.returncode == 0, result.stderr
  assert f'left out {tmp_path / "other"}' in result.stderr
  assert (run / 'report.html').exists()


def test_no_run_at_all_is_refused(tmp_path):
  result = _launch(tmp_path)
  assert (result.returncode, result.stdout) == (2, '')
  assert 'holds no run' in result.stderr


def test_no_directory_is_refused():
  result = _launch()
  assert (result.returncode, result.stdout) == (2, '')
  assert 'RUN_DIR' in result.stderr


def test_it_needs_no_slow_import():
  program = (
    'import sys\n'
    'from reporting import report\n'
    'print({"jax", "tensorflow", "acme", "matplotlib"} & set(sys.modules))\n'
  )
  result = subprocess.run(
    [sys.executable, '-c', program],
    capture_output=True,
    text=True,
    timeout=60,
    check=True,
  )
  assert result.stdout.strip() == 'set()'
