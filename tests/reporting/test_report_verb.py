"""`launch.py report`, in a process of its own."""

import pathlib
import subprocess
import sys

import pytest

from tests.reporting import pages

_ROOT = pathlib.Path(__file__).parents[2]


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
  assert len(pages.Page(a / 'report.html').tables[0]) == 1 + 1 + len(names)
  result = _launch(b, f'--output={tmp_path / "page.html"}')
  assert result.returncode == 0, result.stderr
  assert 'seed 1' in pages.Page(tmp_path / 'page.html').tables[0][1][0]


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
