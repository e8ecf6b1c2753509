"""The servers of a run on one machine, from that machine and from another."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.backends import helpers
from tests.e2e import runs
from tests.namespaces import network

_CONNECT = """
import socket, sys
try:
  socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()
except TimeoutError:
  print('nobody answers')
else:
  print('connected')
"""


@pytest.fixture(scope='module', autouse=True)
def namespaces():
  reason = network.missing()
  if reason:
    pytest.skip(reason)


@contextlib.contextmanager
def _running(net, directory):
  """Has a program run on host `a`; yields what `servers` reads from it."""
  command = [sys.executable, '-m', 'tests.namespaces.guarded', str(directory)]
  with (
    open(directory / 'output', 'w') as output,
    subprocess.Popen(
      net.command('a', command),
      cwd=runs.ROOT,
      stdout=output,
      stderr=subprocess.STDOUT,
    ) as process,
  ):
    try:
      path = directory / 'servers'
      helpers.wait_until(path.exists, path, 60)
      yield lambda: json.loads(path.read_text())
    finally:
      process.terminate()
      process.wait(30)


def _connect(net, host, address, port):
  command = [sys.executable, '-c', _CONNECT, address, str(port)]
  done = subprocess.run(
    net.command(host, command), capture_output=True, text=True, check=True
  )
  return done.stdout.strip()


def test_nobody_on_another_machine_reaches_a_run_of_this_one(tmp_path):
  with network.connected() as net, _running(net, tmp_path) as servers:
    outer, first = net.addresses['a'], servers()
    os.kill(first['pid'], signal.SIGKILL)
    helpers.wait_until(
      lambda: servers()['pid'] != first['pid'], 'the server to start again', 60
    )
    for role in ('courier', 'reverb'):
      assert _connect(net, 'b', outer, first[role]) == 'nobody answers', role
      assert _connect(net, 'a', '127.0.0.1', first[role]) == 'connected', role
    # What a node opens beside the program's addresses is its own affair.
    assert _connect(net, 'b', outer, first['own']) == 'connected'
