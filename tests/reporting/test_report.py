"""The page that compares runs, from their run directories."""

import re
import subprocess
import sys

import pytest

from reporting import report, run_groups
from run_files import status
from tests.reporting import csv_files, pages
from tests.run_files import statuses


def _bands(figure: str) -> int:
  return figure.count('fill-opacity')


def _lines(figure: str) -> int:
  return figure.count('stroke-width="2"')


def test_seeds_are_one_line_with_a_band(make_run):
  seeds = [make_run(f's{seed}', seed=seed) for seed in range(3)]
  other = make_run('other', agent='td3')
  page = pages.Page(report.write([*seeds, other]))
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
  csv_files.write(seeds[1], 'evaluator_0', csv_files.EVALUATIONS, rows)
  page = pages.Page(report.write(seeds))
  assert page.tables[0][1][1] == '498.5 −3.0 to 1,000.0'


def test_settings_that_differ_have_a_column(make_run):
  first = make_run('a', config='batch_size=64,learning_rate=3e-4')
  same = make_run('b', seed=1, config='learning_rate=0.0003, batch_size=64')
  third = make_run('c', config='batch_size=64', num_actors=4)
  page = pages.Page(report.write([first, same, third]))
  settings = page.tables[1]
  assert settings[0] == ['', 'learning_rate', 'num_actors']
  assert settings[1] == ['learning_rate=0.0003', '0.0003', 'default']
  assert settings[2] == ['learning_rate=default', 'default', '4']
  assert 'batch_size 64' in page.source


def test_a_label_has_only_settings_that_tell_runs_apart(make_run):
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
  page = pages.Page(
    report.write([make_run('a'), make_run('b', env='gym:B-v0')])
  )
  for env in ('A', 'B'):
    for axis in ('actor steps', 'wall time, seconds'):
      figure = page.figures[f'Return in gym:{env}-v0 against {axis}']
      assert _lines(figure) == 1


def test_a_run_alone_needs_no_legend_and_no_table_of_settings(make_run):
  page = pages.Page(report.write([make_run('a')]))
  assert 'ul' not in page.tags
  assert len(page.tables) == 1


def test_text_from_files_is_escaped(make_run):
  evil = '<script>alert(1)</script>'
  run = make_run('<b>&', env=f'gym:{evil}', config='x="\'<i>')
  fields = [*csv_files.LEARNER[:2], f'learner/{evil}_loss']
  csv_files.write(run, 'learner_0', fields, [(1, 10, 1), (2, 20, 2)])
  page = pages.Page(report.write([run, make_run('b')]))
  assert not {'script', 'b', 'i'} & page.tags
  assert page.source.count('&lt;script&gt;alert(1)&lt;/script&gt;') >= 3


def test_the_page_needs_no_other_file(make_run):
  page = pages.Page(report.write([make_run('a')]))
  assert not {'script', 'link', 'img', 'iframe'} & page.tags
  assert not re.search('https?:|url\\(|@import', page.source)


def test_a_killed_run_is_shown_up_to_its_torn_row(make_run):
  run = make_run('a')
  with (run / 'metrics' / 'evaluator_0.csv').open('a') as f:
    f.write('10,1000,-1')
  with (run / 'metrics' / 'actor_0.csv').open('a') as f:
    f.write('10,10')
  (run / 'logs').mkdir()
  killed = statuses.launcher(pid=1, process_start='never')
  status.write(str(run / 'logs'), killed, [])
  page = pages.Page(report.write([run]))
  assert page.tables[0][1][1:] == ['−3.0', '900', '90', '8.0', 'killed']


@pytest.mark.parametrize('fields', [csv_files.EVALUATIONS, []])
def test_a_run_without_evaluations(make_run, fields):
  run = make_run('a')
  csv_files.write(run, 'evaluator_0', fields, [])
  page = pages.Page(report.write([run]))
  assert 'Nothing was written yet' in page.figures['Return against actor steps']
  assert page.tables[0][1][1] == '–'
  seeds = pages.Page(report.write([run, make_run('b', seed=1)]))
  assert _lines(seeds.figures['Return against actor steps']) == 1
  assert seeds.tables[0][1][1] == '−3.0 −3.0 to −3.0'


def test_a_run_that_wrote_nothing_yet(tmp_path):
  (tmp_path / 'config.json').write_text('{"agent": "sac", "env": "gym:A"}')
  page = pages.Page(report.write([tmp_path]))
  assert page.tables[0][1][1:5] == ['–', '–', '–', '0.0']
  assert len(page.figures) == 5


def test_values_that_are_not_finite_are_counted(make_run):
  run = make_run('a')
  rows = [(1, 1, 0.5), (2, 2, 'nan'), (3, 3, 'inf'), (4, 4, 0.25)]
  csv_files.write(run, 'learner_0', csv_files.LEARNER, rows)
  page = pages.Page(report.write([run]))
  (name,) = [name for name in page.figures if name.startswith('critic_loss')]
  assert name.endswith('2 values not finite')
  assert 'nan' not in page.source.lower()


def test_an_offline_run_counts_the_learners_steps(make_run):
  run = make_run('a', program='offline')
  (run / 'metrics' / 'actor_0.csv').unlink()
  fields = ['time', 'learner/steps', 'evaluator/episode_return']
  csv_files.write(run, 'evaluator_0', fields, [(1, 10, -5), (2, 20, -3)])
  page = pages.Page(report.write([run]))
  assert _lines(page.figures['Return against learner steps']) == 1
  assert page.tables[0][1][1:4] == ['−4.0', '–', '90']


def test_the_time_before_a_resume_is_no_wall_time(make_run):
  run = make_run('a')
  rows = [(0, 100, 0), (100, 200, 0), (90_000, 300, 0), (90_050, 400, 0)]
  for name in ('learner_0', 'evaluator_0'):
    (run / 'metrics' / f'{name}.csv').unlink()
  csv_files.write(run, 'actor_0', csv_files.ACTORS, rows)
  assert run_groups.load(run).wall_time == 150.0


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
