"""A folder is written whole or not at all, whatever goes wrong."""

import ctypes
import types

import pytest

from run_files import whole_folders


def _content(path):
  return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize('can_exchange', [True, False])
def test_a_folder_takes_the_place_of_another(
  can_exchange, tmp_path, monkeypatch
):
  if not can_exchange:
    libc = types.SimpleNamespace(renameat2=lambda *args: -1)
    monkeypatch.setattr(ctypes, 'CDLL', lambda *args, **kwargs: libc)
  for content in ({'a': b'1', 'b': b'2'}, {'a': b'3'}):
    whole_folders.write(tmp_path / 'folder', content)
    assert _content(tmp_path / 'folder') == content
    assert [path.name for path in tmp_path.iterdir()] == ['folder']


def test_a_failure_leaves_the_older_folder(tmp_path):
  whole_folders.write(tmp_path / 'folder', {'a': b'1'})
  with pytest.raises(OSError):
    whole_folders.write(tmp_path / 'folder', {'a': b'2', 'no/such': b'3'})
  assert _content(tmp_path / 'folder') == {'a': b'1'}
  assert [path.name for path in tmp_path.iterdir()] == ['folder']


def test_a_file_of_that_name_is_not_replaced(tmp_path):
  (tmp_path / 'folder').write_text('mine')
  with pytest.raises(OSError):
    whole_folders.write(tmp_path / 'folder', {'a': b'1'})
  assert (tmp_path / 'folder').read_text() == 'mine'
