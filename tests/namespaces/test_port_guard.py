"""Clients of the same machine reach a run's servers, and no others do."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from benchmarks.support import network
from tests import helpers
from tests.e2e import runs

_CONNECT = """
import socket, sys
try:
  socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()
except (TimeoutError, ConnectionRefusedError):
  print('nobody answers')
else:
  print('connected')
"""

# An ordinary user's server, which is guarded after a client has connected.
_SERVE = """
import encodings.idna, os, socket, sys
from backends.process import port_guard
os.setgroups([]), os.setgid(65534), os.setuid(65534)
server = socket.create_server(('', 7799))
print('listens', flush=True)
early, _ = server.accept()
port_guard.watch({7799})
assert early.recv(1) == b'', 'is left in'
print('guarded', flush=True)
input()
"""
_COME_EARLY = """
import socket, sys
with socket.create_connection((sys.argv[1], 7799), 10) as early:
  print('shown out' if early.recv(1) == b'' else 'let in')
"""


@pytest.fixture(scope='module', autouse=True)
def namespaces():
  reason = network.missing()
  if reason:
    pytest.skip(reason)


@contextlib.contextmanager
def _running(net, directory):
  """Runs a program on host `a`; yields a function that reads `servers`."""
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


def test_no_other_machine_reaches_the_servers_of_a_run(tmp_path):
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


def test_the_guard_of_an_ordinary_user_keeps_other_machines_off():
  with (
    network.connected() as net,
    subprocess.Popen(
      net.command('a', [sys.executable, '-c', _SERVE]),
      cwd=runs.ROOT,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      text=True,
    ) as server,
  ):
    outer = net.addresses['a']
    assert server.stdout.readline() == 'listens\n'
    early = [sys.executable, '-c', _COME_EARLY, outer]
    done = subprocess.run(
      net.command('b', early), capture_output=True, text=True, check=True
    )
    assert done.stdout == 'shown out\n'
    assert server.stdout.readline() == 'guarded\n'
    assert _connect(net, 'b', outer, 7799) == 'nobody answers'
    assert _connect(net, 'a', '127.0.0.1', 7799) == 'connected'
    server.communicate('\n', timeout=10)
