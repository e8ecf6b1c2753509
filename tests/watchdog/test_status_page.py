"""A run at one moment as text."""

import pytest

from run_files import status
from tests.reporting import csv_files
from tests.run_files import statuses
from watchdog import status_page


def _page(run_dir, launcher, *tasks):
  (run_dir / 'logs').mkdir()
  status.write(str(run_dir / 'logs'), launcher, tasks)
  return status_page.page(run_dir)


@pytest.mark.parametrize(
  'state, expected',
  [('running', 'gone'), ('backoff', 'gone'), ('failed', 'failed')],
)
def test_the_tasks_of_a_launcher_that_was_killed_are_gone(
  tmp_path, state, expected
):
  killed = statuses.launcher(pid=1, process_start='never')
  page = _page(tmp_path, killed, statuses.task(state=state, pid=7))
  assert 'its launcher 1 was killed' in page
  assert page.splitlines()[3].split() == ['actor/0', expected, '7', '0']


def test_a_task_that_runs_has_its_newest_metrics(tmp_path):
  fields = ['time', 'actor/steps', 'actor/steps_per_second', 'weights/version']
  csv_files.write(tmp_path, 'actor_0', fields, [[1, 10, 90, 2], [2, 20, 95, 3]])
  page = _page(tmp_path, statuses.launcher(), statuses.task(restarts=2))
  assert 'running, launcher' in page.splitlines()[0]
  row = page.splitlines()[3].split()
  assert row[:2] == ['actor/0', 'running']
  assert row[3:] == ['2', '95', 'v3,', 'lag', '0']
  assert '  actor steps        20' in page


def test_a_run_that_has_ended_waits_for_nothing(tmp_path):
  ended = statuses.launcher(state='ended', exit_code=3)
  page = _page(tmp_path, ended, statuses.task(state='stopped'))
  assert 'ended with exit code 3' in page
  assert 'waits' not in page
