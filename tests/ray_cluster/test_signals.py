"""A driver of Ray that ends before its run has begun."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest

from tests import helpers
from tests.e2e import runs

_STOPS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
# A driver takes up to 20 s to give back its groups, and as many to leave Ray.
_LEAVES_SECS = 90


@contextlib.contextmanager
def _driver(address, log_dir, cpus=1, answer_secs=60):
  with open(log_dir / 'output', 'w') as output:
    process = subprocess.Popen(
      [
        *(sys.executable, '-m', 'tests.ray_cluster.drivers'),
        *(address, str(log_dir), str(cpus), str(answer_secs)),
      ],
      cwd=runs.ROOT,
      env={**os.environ, helpers.MARKER: str(log_dir)},
      stdout=output,
      stderr=subprocess.STDOUT,
    )
    try:
      yield process
    finally:
      process.kill()
      process.wait()
  helpers.assert_nothing_left(str(log_dir))


def _output(log_dir):
  return (log_dir / 'output').read_text()


def _assert_clean(log_dir):
  """Fails if the output has a traceback of Python or of C++."""
  output = _output(log_dir)
  for word in ('Traceback', 'SIGABRT', '*** '):
    assert word not in output, output


def _files(log_dir):
  return {path.name for path in log_dir.iterdir()}


@pytest.fixture
def half_dead():
  """A server that takes connections and never answers."""
  with socket.create_server(('', 0)) as listener:
    yield listener


def _address(listener):
  return f'127.0.0.1:{listener.getsockname()[1]}'


def test_a_cluster_that_does_not_answer_is_one_sentence(half_dead, tmp_path):
  address = _address(half_dead)
  with _driver(address, tmp_path, answer_secs=1) as driver:
    assert driver.wait(60) == 2
  last = _output(tmp_path).splitlines()[-1]
  assert last.startswith(f"the Ray cluster at '{address}' does not answer")
  assert '`ray start`' in last
  _assert_clean(tmp_path)


def test_a_signal_while_a_cluster_does_not_answer_ends_the_driver(
  half_dead, tmp_path
):
  with _driver(_address(half_dead), tmp_path) as driver:
    # The first connection only tries the address; the second is Ray's.
    half_dead.settimeout(60)
    half_dead.accept()
    half_dead.accept()
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(_LEAVES_SECS) == 128 + signal.SIGTERM
  _assert_clean(tmp_path)
  assert _files(tmp_path) == {'output'}


@pytest.mark.long
def test_a_signal_while_there_is_no_room_leaves_nothing(cluster, tmp_path):
  cluster.add_node(num_cpus=2)
  for signum in _STOPS:
    log_dir = tmp_path / signum.name
    log_dir.mkdir()
    with _driver(cluster.address, log_dir, cpus=3) as driver:
      helpers.wait_until(
        lambda folder=log_dir: 'Waiting' in _output(folder), 'the wait', 100
      )
      assert any(name.startswith('.nodes-') for name in _files(log_dir))
      driver.send_signal(signum)
      assert driver.wait(_LEAVES_SECS) == 128 + signum
    _assert_clean(log_dir)
    assert _files(log_dir) == {'output'}


@pytest.mark.long
def test_a_signal_while_daemons_start_leaves_nothing(cluster, tmp_path):
  cluster.add_node(num_cpus=2)
  with _driver(cluster.address, tmp_path) as driver:
    helpers.wait_until(
      lambda: (tmp_path / 'status.json').exists(), 'the run', 100
    )
    driver.terminate()
    assert driver.wait(_LEAVES_SECS) == 128 + signal.SIGTERM
  _assert_clean(tmp_path)
  assert not any(name.startswith('.nodes-') for name in _files(tmp_path))
