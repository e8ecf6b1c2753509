"""Files are written whole, even on a full disk, and text is safe to show."""

import os

import pytest

from run_files import patience, screen, whole_files
from tests.run_files import disks


def test_a_file_that_does_not_fit_stays_as_it_was(tmp_path):
  path = tmp_path / 'file'
  whole_files.write(path, 'before')
  for content in (b'x' * 100, 'é' * 100):
    with disks.full(50), pytest.raises(OSError):
      whole_files.write(path, content)
  assert path.read_text() == 'before'
  assert os.listdir(tmp_path) == ['file']
  whole_files.write(path, 'after')
  assert path.read_text() == 'after'


def test_content_is_added_whole_or_not_at_all(tmp_path):
  path = tmp_path / 'file'
  whole_files.append(path, b'one\n')
  with disks.full(10), pytest.raises(OSError):
    whole_files.append(path, b'two, which is long\n')
  assert path.read_bytes() == b'one\n'
  whole_files.append(path, b'three\n')
  assert path.read_bytes() == b'one\nthree\n'


def test_a_link_is_replaced_rather_than_followed(tmp_path):
  (tmp_path / 'other').write_text('mine')
  (tmp_path / 'file').symlink_to(tmp_path / 'other')
  whole_files.write(tmp_path / 'file', 'new')
  assert (tmp_path / 'other').read_text() == 'mine'


def test_a_failure_is_said_once_and_so_is_its_end():
  said = []
  writing = patience.Patience('the file', 'it is tried again', said.append)

  def attempt(error=None):
    with writing.attempt():
      if error:
        raise error

  attempt()
  for _ in range(3):
    attempt(OSError(28, 'No space left on device'))
    assert writing.error is not None
  attempt()
  attempt()
  assert writing.error is None
  first, second = said
  assert 'the file cannot be written now' in first and 'No space' in first
  assert second == 'the file is written again'
  with pytest.raises(KeyError):
    attempt(KeyError('a fault of another kind'))


@pytest.mark.parametrize(
  'text, expected',
  [
    ('as it is\n\tñ 日本 –', 'as it is\n\tñ 日本 –'),
    ('\033[2J\033]0;x\007', r'\x1b[2J\x1b]0;x\x07'),
    ('a\rb\x9b31m\x7f', r'a\rb\x9b31m\x7f'),
    ('\u202egpj.exe\u200b\udcff', r'\u202egpj.exe\u200b\udcff'),
  ],
)
def test_control_characters_are_shown_as_text(text, expected):
  assert screen.plain(text) == expected
