"""The one copy of each version per host is whole, private, and removed."""

import errno
import os
import pathlib
import signal
import stat
import subprocess
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest

import container
from container.host_cache import cache as cache_lib
from container.host_cache import entries, folders, locks
from tests.container import servers

_REPOSITORY = pathlib.Path(container.__file__).parents[1]
VALUES = {'a': np.arange(1000, dtype=np.float32), 'b': np.ones(7, np.int8)}


@pytest.fixture(name='root', autouse=True)
def fixture_root(tmp_path, monkeypatch):
  root = tmp_path / 'cache'
  monkeypatch.setattr(folders, 'default_root', lambda: root)
  return root


def connect(address, leaf_type='numpy'):
  return container.ReverbVariableContainer(
    address, leaf_type=leaf_type, timeout=20.0
  )


def entry(key, index, value=0.0, is_local=True):
  arrays = [np.full((3, 5), value, np.float32), np.zeros((0,), np.int64)]
  return entries.Entry(key, 1.5, index, 0.0, is_local, arrays)


def write(cache, new):
  with cache.claim(cache_lib.Role.PUSH, 1.0) as is_alone:
    assert is_alone
    cache.write(cache_lib.Role.PUSH, new)
    return cache.publish(cache_lib.Role.PUSH, new)


@pytest.fixture(name='address')
def fixture_address():
  with servers.serving(container.variable_table(VALUES)) as address:
    yield address


def test_one_payload_for_all_readers_of_a_host(address):
  readers = [connect(address) for _ in range(8)]
  servers.TfAgentsClient(address).push(VALUES)
  threads = [threading.Thread(target=reader.pull) for reader in readers]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join(30)
  size = sum(value.nbytes for value in VALUES.values())
  received = [r.metrics()['wire_bytes_received'] for r in readers]
  assert sorted(received) == [0] * 7 + [size]
  assert sum(r.metrics()['cache_hits'] for r in readers) >= 7


def test_readers_on_the_pushers_host_need_no_network(address):
  pusher, reader = connect(address), connect(address)
  for n in range(1, 4):
    pusher.push({**VALUES, 'b': np.full(7, n, np.int8)})
    assert reader.pull()['b'][0] == n
  metrics = reader.metrics()
  assert metrics['wire_bytes_received'] == 0
  assert metrics['checks'] == 1


def test_a_push_from_another_host_is_found_after_one_from_this_host(address):
  pusher, reader = connect(address), connect(address)
  pusher.push(VALUES)
  reader.pull()
  elsewhere = container.ReverbVariableContainer(address, host_cache=False)
  elsewhere.push({**VALUES, 'b': np.full(7, 9, np.int8)})
  snapshot = None
  servers.poll(lambda: reader.snapshot(newer_than=1) is not None)
  snapshot = reader.snapshot()
  assert snapshot.version == 2
  assert snapshot.values['b'][0] == 9


def test_values_are_mapped_read_only_and_outlive_newer_ones(address):
  pusher, reader = connect(address), connect(address)
  pusher.push(VALUES)
  old = reader.pull()
  with pytest.raises(ValueError, match='read-only'):
    old['a'][0] = 1
  for _ in range(4):
    pusher.push({**VALUES, 'a': np.zeros(1000, np.float32)})
    reader.pull()
  pusher.close()
  reader.close()
  np.testing.assert_array_equal(old['a'], VALUES['a'])


def test_jax_shares_the_mapping(address):
  pusher, reader = connect(address), connect(address, 'numpy')
  pusher.push(VALUES)
  leaf = reader.pull()['a']
  assert leaf.ctypes.data % 64 == 0
  assert jnp.asarray(leaf).unsafe_buffer_pointer() == leaf.ctypes.data


def test_files_are_private(address, root):
  pusher = connect(address)
  pusher.push(VALUES)
  paths = [root, *root.rglob('*')]
  assert len(paths) > 3
  for path in paths:
    mode = stat.S_IMODE(path.stat().st_mode)
    assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_folder_open_to_others_is_not_used(address, root):
  root.mkdir(mode=0o755)
  pusher, reader = connect(address), connect(address)
  pusher.push(VALUES)
  np.testing.assert_array_equal(reader.pull()['a'], VALUES['a'])
  assert reader.metrics()['cache_fallbacks'] > 0
  assert reader.metrics()['wire_bytes_received'] > 0
  assert not list(root.iterdir())


def test_a_host_without_room_falls_back_and_counts_it(address, monkeypatch):
  def no_room(*_):
    raise OSError(errno.ENOSPC, 'No space left on device')

  monkeypatch.setattr(os, 'writev', no_room)
  pusher, reader = connect(address), connect(address)
  for n in range(1, 4):
    pusher.push({**VALUES, 'b': np.full(7, n, np.int8)})
    assert reader.pull()['b'][0] == n
  assert pusher.metrics()['cache_fallbacks'] == 3
  assert reader.metrics()['cache_fallbacks'] == 3


def test_the_last_to_leave_cleans_up(address, root):
  pusher, reader = connect(address), connect(address)
  pusher.push(VALUES)
  reader.pull()
  pusher.close()
  assert [path for path in root.iterdir() if path.is_dir()]
  reader.close()
  assert not [path for path in root.iterdir() if path.is_dir()]


_CRASH = """
import os, pathlib, signal, sys, numpy
from container.host_cache import cache, entries
root = pathlib.Path(sys.argv[1])
joined = cache.HostCache(b'crashed', 'variables', 'b:1', root)
with joined.claim(cache.Role.PUSH, 1.0):
  joined.write(
    cache.Role.PUSH, entries.Entry(1, 1.5, 1, 0., True, [numpy.zeros(9)])
  )
  os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_crash_left_is_removed_by_the_next_program(root):
  root.parent.mkdir(exist_ok=True)
  living = cache_lib.HostCache(b'living', 'variables', 'a:1', root)
  write(living, entry(1, 1))
  args = [sys.executable, '-c', _CRASH, str(root)]
  crashed = subprocess.run(args, timeout=60, cwd=_REPOSITORY)
  assert crashed.returncode == -signal.SIGKILL
  assert (root / (b'crashed'.hex() + '-' + b'variables'.hex())).is_dir()
  folders.sweep(root)
  assert [path.name for path in root.iterdir() if path.is_dir()] == [
    b'living'.hex() + '-' + b'variables'.hex()
  ]
  assert living.read().key == 1
  living.close()


def test_servers_and_tables_share_no_version(root):
  first, second = (
    cache_lib.HostCache(name, 'variables', f'{name}:1', root)
    for name in (b'1', b'2')
  )
  other_table = cache_lib.HostCache(b'1', 'other', 'a:1', root)
  write(first, entry(1, 1))
  assert second.read() is None
  assert other_table.read() is None
  for cache in (first, second, other_table):
    cache.close()


def test_a_late_writer_does_not_take_readers_back(root):
  cache = cache_lib.HostCache(b'1', 'variables', 'a:1', root)
  assert write(cache, entry(key=5, index=5, value=5.0))
  assert not write(cache, entry(key=4, index=4, value=4.0, is_local=False))
  assert cache.has_news()
  found = cache.read()
  assert (found.key, found.index, found.is_local) == (5, 5, True)
  assert not cache.has_news()
  assert [array.shape for array in found.arrays] == [(3, 5), (0,)]
  assert (found.arrays[0] == 5.0).all()
  assert write(cache, entry(key=6, index=6))
  assert cache.has_news()
  cache.close()


def test_an_entry_of_many_leaves_is_read_whole(root):
  cache = cache_lib.HostCache(b'1', 'variables', 'a:1', root)
  arrays = [np.full((1, 1, 2), n, np.float64) for n in range(2000)]
  write(cache, entries.Entry(1, 1.5, 7, 0.0, False, arrays))
  assert not write(cache, entry(key=2, index=6))
  assert [int(array[0, 0, 1]) for array in cache.read().arrays] == [
    *range(2000)
  ]
  cache.close()


def test_a_cache_collected_while_its_thread_has_the_lock_does_not_wait(
  root, monkeypatch
):
  forgotten = [cache_lib.HostCache(b'first', 'variables', 'here:1')]
  sweep = folders._sweep

  def sweep_and_forget(folder):
    # The garbage collector may do this at any moment.
    forgotten.clear()
    sweep(folder)

  monkeypatch.setattr(folders, '_sweep', sweep_and_forget)
  waits = []
  monkeypatch.setattr(locks.time, 'sleep', waits.append)
  cache = cache_lib.HostCache(b'second', 'variables', 'here:2')
  assert not waits
  assert [p.name for p in root.iterdir() if p.is_dir()] == [
    f'{b"second".hex()}-{b"variables".hex()}'
  ]
  cache.close()
