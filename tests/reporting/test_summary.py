"""The summary of a run, from its metrics."""

import math

from reporting import summary
from tests.reporting import csv_files


def test_a_whole_run(tmp_path):
  csv_files.write(
    tmp_path,
    'actor_0',
    ['time', 'actor/steps', 'weights/lag_versions'],
    [(100, 200, 0), (110, 2000, 2)],
    torn='111,21',
  )
  csv_files.write(
    tmp_path,
    'actor_1',
    ['time', 'actor/steps', 'weights/lag_versions'],
    [(105, 1000, 1), (120, 3200, 5)],
  )
  csv_files.write(
    tmp_path,
    'learner_0',
    ['time', 'learner/steps', 'weights/pushes'],
    [(102, 1, 1), (112, 5001, 1234)],
  )
  csv_files.write(
    tmp_path,
    'evaluator_0',
    ['time', 'actor/steps', 'evaluator/episode_return'],
    [(101, i, r) for i, r in enumerate([-1200, -900, -5, -4, -3, -2, -1])],
  )
  assert summary.summarize(tmp_path, 65.25).splitlines() == [
    'wall time      65.2 s',
    'actor steps    3,200  (150.0 a second)',
    'learner steps  5,001  (500.0 a second)',
    'evaluation     return -1,200.0 at first, -3.0 at the end  '
    '(mean of the last 5 of 7)',
    "weights        1,234 pushes, actors' lag 2.0 versions in the mean, "
    '5 at most',
  ]
  assert summary.final_return(tmp_path) == -3.0


def test_the_time_before_a_resume_does_not_count(tmp_path):
  csv_files.write(
    tmp_path,
    'actor_0',
    ['time', 'actor/steps'],
    [(0, 100), (10, 1100), (5000, 1300), (5010, 3300)],
  )
  assert '3,300  (200.0 a second)' in summary.summarize(tmp_path, 60.0)


def test_a_run_that_was_killed_early_has_fewer_lines(tmp_path):
  assert summary.summarize(tmp_path, 2.0).splitlines() == [
    'wall time      2.0 s',
    'learner steps  none: nothing was learned',
    'evaluation     none was finished',
  ]
  assert math.isnan(summary.final_return(tmp_path))


def test_one_row_has_no_rate_and_torn_files_have_no_rows(tmp_path):
  csv_files.write(tmp_path, 'actor_0', ['time', 'actor/steps'], [(1, 200)])
  csv_files.write(tmp_path, 'learner_0', ['time'], [], torn='1')
  (tmp_path / 'metrics' / 'evaluator_0.csv').write_bytes(b'')
  assert 'actor steps    200\n' in summary.summarize(tmp_path, 2.0)


def test_pushes_of_a_restarted_learner_are_added(tmp_path):
  csv_files.write(
    tmp_path,
    'learner_0',
    ['time', 'weights/pushes'],
    [(1, 10), (2, 20), (3, 5), (4, 7)],
  )
  assert '27 pushes' in summary.summarize(tmp_path, 9.0)


def test_values_that_were_not_finite_are_counted(tmp_path):
  csv_files.write(
    tmp_path,
    'actor_0',
    ['time', 'actor/steps', 'non_finite/left_out'],
    [(1, 10, ''), (2, 20, 3), (3, 30, 1)],
  )
  csv_files.write(
    tmp_path, 'learner_0', ['time', 'non_finite/left_out'], [(1, 40)]
  )
  csv_files.write(
    tmp_path,
    'evaluator_0',
    ['time', 'actor/steps', 'evaluator/episode_return'],
    [(1, 1, -7), (2, 2, -1), (3, 3, 'nan'), (4, 4, -3), (5, 5, 'inf')],
  )
  lines = summary.summarize(tmp_path, 9.0).splitlines()
  assert lines[-1] == (
    'not finite     left out: episodes of actors 4, weights of the learner 40'
  )
  assert '-3.7 at the end  (mean of the last 5 of 5; 2 of them' in lines[3]
