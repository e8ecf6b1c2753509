"""Files that another user has planted are neither used nor touched."""

import os
import shutil

import numpy as np
import pytest

import container
from container.host_cache import cache as cache_lib
from container.host_cache import entries, folders
from tests.container import servers

VALUES = {'a': np.arange(5, dtype=np.float32)}
# The folder's name of a cache that no process uses.
NAME = b'server'.hex() + '-' + b'variables'.hex()
STRANGER = 65534

as_root = pytest.mark.skipif(
  os.geteuid() != 0, reason='only root can give a folder to another user'
)


def entry():
  return entries.Entry(1, 1.5, 1, 0.0, True, [VALUES['a']])


@pytest.fixture(name='root', autouse=True)
def fixture_root(tmp_path, monkeypatch):
  root = tmp_path / 'cache'
  monkeypatch.setattr(folders, 'default_root', lambda: root)
  return root


@pytest.fixture(name='victim')
def fixture_victim(tmp_path):
  """Makes a private folder of this user whose files have a cache's names."""
  folder = tmp_path / 'mine'
  folder.mkdir(mode=0o700)
  for path in (folder, folder / NAME, folder / 'work'):
    path.mkdir(mode=0o700, exist_ok=True)
    (path / 'current').write_text('mine')
  return folder


def assert_untouched(victim):
  found = sorted(str(p.relative_to(victim)) for p in victim.rglob('*'))
  assert found == sorted(
    ['current', NAME, f'{NAME}/current', 'work', 'work/current']
  )
  assert all(p.read_text() == 'mine' for p in victim.rglob('current'))


def push_and_pull():
  """Uses a container; returns how often it had to do without its cache."""
  with servers.serving(container.variable_table(VALUES)) as address:
    pusher, reader = (
      container.ReverbVariableContainer(address, leaf_type='numpy')
      for _ in range(2)
    )
    pusher.push(VALUES)
    np.testing.assert_array_equal(reader.pull()['a'], VALUES['a'])
    pusher.close()
    reader.close()
  return reader.metrics()['cache_fallbacks']


def test_a_link_in_place_of_the_root_is_not_followed(root, victim):
  root.symlink_to(victim)
  folders.sweep(root)
  with pytest.raises(OSError):
    cache_lib.HostCache(b'1', 'variables', 'a:1', root)
  assert push_and_pull()
  assert_untouched(victim)


def test_a_lock_that_is_a_link_makes_no_file(root, tmp_path):
  root.mkdir(mode=0o700)
  (root / '.lock').symlink_to(tmp_path / 'made')
  folders.sweep(root)
  assert push_and_pull()
  assert not (tmp_path / 'made').exists()


@as_root
def test_a_folder_of_another_user_is_left_alone(root, tmp_path):
  root.mkdir(mode=0o700)
  (root / NAME).mkdir(mode=0o700)
  (root / '.lock').symlink_to(tmp_path / 'made')
  os.chown(root, STRANGER, STRANGER)
  folders.sweep(root)
  assert push_and_pull()
  assert sorted(p.name for p in root.iterdir()) == ['.lock', NAME]
  assert not (tmp_path / 'made').exists()


def test_links_in_the_root_are_not_followed(root, victim):
  root.mkdir(mode=0o700)
  (root / NAME).symlink_to(victim)
  (root / 'other').mkdir(mode=0o700)
  (root / 'other' / 'file').touch()
  folders.sweep(root)
  with pytest.raises(OSError):
    cache_lib.HostCache(b'server', 'variables', 'a:1', root)
  assert_untouched(victim)
  assert (root / 'other' / 'file').exists()


@as_root
def test_a_folder_of_another_user_in_the_root_stays(root):
  root.mkdir(mode=0o700)
  (root / NAME).mkdir(mode=0o700)
  (root / NAME / 'current').touch()
  os.chown(root / NAME, STRANGER, STRANGER)
  folders.sweep(root)
  assert (root / NAME / 'current').exists()


@pytest.mark.parametrize('name', ['.push', '.publish', 'current', 'draft-push'])
def test_links_in_a_cache_are_not_followed(root, victim, name):
  cache = cache_lib.HostCache(b'server', 'variables', 'a:1', root)
  (root / NAME / name).symlink_to(victim / 'current')
  try:
    with cache.claim(cache_lib.Role.PUSH, 1.0):
      cache.write(cache_lib.Role.PUSH, entry())
      cache.publish(cache_lib.Role.PUSH, entry())
  except OSError:
    assert name != 'draft-push'
  cache.close()
  assert_untouched(victim)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(root):
  cache = cache_lib.HostCache(b'server', 'variables', 'a:1', root)
  os.mkfifo(root / NAME / 'current')
  with pytest.raises(OSError):
    cache.read()
  cache.close()


def test_a_cache_that_was_removed_is_made_again(root):
  with servers.serving(container.variable_table(VALUES)) as address:
    pusher, reader = (
      container.ReverbVariableContainer(address, leaf_type='numpy')
      for _ in range(2)
    )
    pusher.push(VALUES)
    reader.pull()
    shutil.rmtree(root)
    for n in (2, 3, 4):
      pusher.push({'a': np.full(5, n, np.float32)})
      servers.poll(lambda n=n: reader.pull()['a'][0] == n)
    assert list(root.glob('*/current'))
    pusher.close()
    reader.close()
