"""A pusher that is killed in a push never leaves half a version."""

import subprocess
import sys

import numpy as np
import pytest

import container
from container.host_cache import folders
from tests.container import servers

# Forks a pusher for each line of its input, which is killed at the point that
# the line names.
_PUSHERS = """
import os, pathlib, signal, sys
import numpy as np
import container
from container.client import connection, shared_copy
from container.host_cache import folders

def die(*_, **__):
  os.kill(os.getpid(), signal.SIGKILL)

def die_unconfirmed(self, table, identity, requests, meanwhile, *_):
  meanwhile()
  die()

folders.default_root = lambda: pathlib.Path(sys.argv[1])
for line in sys.stdin:
  point, address, value = line.split()
  pid = os.fork()
  if not pid:
    if point == 'before':
      connection.Connection.insert = die_unconfirmed
    else:
      shared_copy.SharedCopy.publish = die
    container.ReverbVariableContainer(address).push({'x': np.int64(value)})
  print(os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(name='root', scope='module')
def fixture_root(tmp_path_factory):
  return tmp_path_factory.mktemp('host') / 'cache'


@pytest.fixture(name='push_and_die', scope='module')
def fixture_push_and_die(root):
  pushers = subprocess.Popen(
    [sys.executable, '-c', _PUSHERS, str(root)],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
  )

  def push_and_die(point, address, value):
    print(point, address, value, file=pushers.stdin, flush=True)
    assert pushers.stdout.readline() == '9\n'

  yield push_and_die
  pushers.stdin.close()
  assert pushers.wait(20) == 0


@pytest.fixture(name='connect')
def fixture_connect(root, monkeypatch):
  monkeypatch.setattr(folders, 'default_root', lambda: root)
  with servers.serving(container.variable_table({'x': np.int64(0)})) as address:

    def connect(use_cache=True):
      return container.ReverbVariableContainer(
        address, leaf_type='numpy', timeout=20.0, host_cache=use_cache
      )

    connect.address = address
    yield connect


def read(client, newer_than=None):
  snapshot = client.snapshot(newer_than=newer_than)
  return snapshot and (snapshot.version, int(snapshot.values['x']))


def test_killed_before_the_server_has_the_version(connect, push_and_die, root):
  here, elsewhere, pusher = connect(), connect(use_cache=False), connect()
  pusher.push({'x': 10})
  assert read(here) == read(elsewhere) == (1, 10)
  push_and_die('before', connect.address, 20)
  assert len(list(root.rglob('draft-*'))) == 1
  for client in (here, elsewhere, connect()):
    assert client.version() == 1
    assert read(client) == (1, 10)
  # The next push has the version that the lost push would have had.
  assert pusher.push({'x': 30}) == 2
  assert read(here) == read(elsewhere) == read(connect()) == (2, 30)
  assert not list(root.rglob('draft-*'))


def test_killed_once_the_server_has_the_version(connect, push_and_die):
  here, elsewhere, pusher = connect(), connect(use_cache=False), connect()
  pusher.push({'x': 10})
  assert read(here) == (1, 10)
  push_and_die('after', connect.address, 20)
  assert read(elsewhere) == (2, 20)
  found = []
  servers.poll(lambda: found.append(read(here, newer_than=1)) or found[-1])
  assert found[-1] == (2, 20)
  assert pusher.push({'x': 30}) == 3
  assert read(elsewhere) == (3, 30)
  servers.poll(lambda: read(here) == (3, 30))
