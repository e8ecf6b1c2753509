"""Files are whole, also on a disk that is full; text is no more than text."""

import os

import pytest

from run_files import patience, screen, whole_files
from tests.run_files import disks


def test_a_file_that_does_not_fit_is_as_it_was(tmp_path):
  path = tmp_path / 'file'
  whole_files.write(path, 'before')
  for content in (b'x' * 100, 'é' * 100):
    with disks.full(50), pytest.raises(OSError):
      whole_files.write(path, content)
  assert path.read_text() == 'before'
  assert os.listdir(tmp_path) == ['file']
  whole_files.write(path, 'after')
  assert path.read_text() == 'after'


def test_what_is_added_is_added_whole(tmp_path):
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


def test_a_failure_is_said_once_and_its_end_too():
  said = []
  patient = patience.Patience('the file', 'it is tried again', said.append)

  def attempt(error=None):
    with patient.attempt():
      if error:
        raise error

  attempt()
  for _ in range(3):
    attempt(OSError(28, 'No space left on device'))
    assert patient.error is not None
  attempt()
  attempt()
  assert patient.error is None
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
def test_text_obeys_nobody(text, expected):
  assert screen.plain(text) == expected
