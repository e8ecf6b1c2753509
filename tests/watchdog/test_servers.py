"""Real servers are asked what they are doing."""

import contextlib
import socket
import subprocess
import sys
import time

import courier
import pytest

from rpc import server as call_server
from watchdog import servers


@pytest.fixture(scope='module')
def address():
  """The address of a server in a process of its own, which can be killed."""
  process = subprocess.Popen(
    [sys.executable, '-m', 'tests.watchdog.busy_server'],
    stdout=subprocess.PIPE,
    text=True,
  )
  try:
    yield process.stdout.readline().strip()
  finally:
    process.kill()
    process.communicate()


def _settled(address, expected):
  """Returns who waits at each table, and the tables, once as expected.

  After 20 seconds, it returns what the server says then.
  """
  deadline = time.monotonic() + 20
  while True:
    tables = servers.ask([address]).tables[address]
    said = {w.table.name: (w.samplers, w.inserters) for w in tables}
    if said == expected or time.monotonic() > deadline:
      return said, {w.table.name: w.table for w in tables}
    time.sleep(0.1)


def test_it_says_which_clients_wait_at_each_table(address):
  expected = {
    'idle': (False, False),
    'hungry': (True, False),
    'full': (False, True),
    'deadlocked': (True, True),
  }
  said, tables = _settled(address, expected)
  assert said == expected
  assert tables['full'].size == tables['full'].inserts == 10
  assert tables['full'].samples_missing == 4
  assert (tables['hungry'].inserts, tables['hungry'].samples) == (6, 24)
  assert tables['hungry'].inserts_missing == 1
  assert (tables['full'].min_diff, tables['full'].max_diff) == (0, 40)


@pytest.mark.parametrize('kind', [call_server.Server, courier.Server])
def test_servers_that_do_not_answer_are_silent(kind):
  server = kind('server')
  server.Start()
  with socket.socket() as deaf, socket.socket() as closed:
    deaf.bind(('127.0.0.1', 0))
    deaf.listen()
    closed.bind(('127.0.0.1', 0))
    silent = {f'127.0.0.1:{s.getsockname()[1]}' for s in (deaf, closed)}
    answers = servers.ask([*silent, f'127.0.0.1:{server.port}'])
  assert answers.silent == silent
  assert not answers.tables
  server.Stop()


def _polled(poller, address, condition):
  """Returns the names of the tables once they fulfil a condition.

  After 20 seconds, it returns those that there are then.
  """
  deadline = time.monotonic() + 20
  while True:
    tables = poller.poll(address)
    if condition(tables) or time.monotonic() > deadline:
      return [table.name for table in tables]
    time.sleep(0.05)


def test_a_poller_has_the_newest_answer_and_none_of_a_silent_server(
  address,
):
  expected = ['deadlocked', 'full', 'hungry', 'idle']
  with contextlib.closing(servers.TablesPoller()) as poller:
    assert poller.poll(address) == []
    assert _polled(poller, address, len) == expected
    with socket.socket() as deaf:
      deaf.bind(('127.0.0.1', 0))
      deaf.listen()
      silent = f'127.0.0.1:{deaf.getsockname()[1]}'
      assert _polled(poller, silent, lambda tables: not tables) == []
    assert _polled(poller, address, len) == expected


def test_importing_it_is_quick():
  code = (
    'import sys; from watchdog import status_page, watchdog; '
    "heavy = {'tensorflow', 'jax', 'reverb', 'acme', 'launchpad'}; "
    'sys.exit(str(heavy & set(sys.modules) or 0))'
  )
  result = subprocess.run(
    [sys.executable, '-c', code], capture_output=True, text=True
  )
  assert result.stderr.strip() == '0', result.stderr
