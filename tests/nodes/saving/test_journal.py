"""A journal keeps every value that was written, however its process ended."""

import pytest

from nodes.saving import journal
from run_files import damage
from tests.run_files import disks


def test_the_last_value_of_each_key_comes_back(tmp_path):
  path = str(tmp_path / 'new' / 'counts')
  before = journal.Journal(path)
  before.write('a', {'steps': 1})
  before.write('b', 2)
  before.write('a', {'steps': 3})
  assert journal.Journal(path).values == {'a': {'steps': 3}, 'b': 2}


def test_a_line_cut_short_by_a_kill_is_left_out(tmp_path):
  path = tmp_path / 'counts'
  before = journal.Journal(str(path))
  before.write('a', 1)
  before.write('a', 2)
  path.write_bytes(path.read_bytes()[:-3])
  after = journal.Journal(str(path))
  assert after.values == {'a': 1}
  after.write('b', 3)
  assert journal.Journal(str(path)).values == {'a': 1, 'b': 3}


def test_a_journal_can_be_opened_on_a_full_disk(tmp_path):
  path = tmp_path / 'counts'
  before = journal.Journal(str(path))
  before.write('a', 1)
  path.write_bytes(path.read_bytes() + b'["a", ')
  with disks.full():
    after = journal.Journal(str(path))
    with pytest.raises(OSError):
      after.write('a', 2)
  assert after.values == {'a': 1}
  after.write('a', 3)
  assert journal.Journal(str(path)).values == {'a': 3}


def test_a_foreign_file_is_refused_and_kept(tmp_path):
  path = tmp_path / 'counts'
  path.write_text('step,return\n1,2\n')
  with pytest.raises(damage.DamagedError, match='line 1.*--run_dir'):
    journal.Journal(str(path))
  assert path.read_text() == 'step,return\n1,2\n'


def test_the_file_stays_small(tmp_path, monkeypatch):
  monkeypatch.setattr(journal, '_MAX_BYTES', 1000)
  path = tmp_path / 'counts'
  counts = journal.Journal(str(path))
  for number in range(1000):
    counts.write('a', number)
  assert path.stat().st_size < 2000
  assert journal.Journal(str(path)).values == {'a': 999}
