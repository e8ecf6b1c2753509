"""Measures the time until all readers on another host have new weights.

  python -m benchmarks.across_hosts [--megabytes=1,10,100] [--gigabits=1,10]

Peers: the calls that TF-Agents' container makes, and Acme's way, in which each
reader asks the learner. All ways run one after the other over the same link.

Two network namespaces of this machine stand for two hosts. The kernel's `tbf`
limits the bandwidth of the cable between them. Server and learner are on one
host, and all readers are on the other. A time is from the start of a push until
the last reader has the weights. The bytes are those that the readers' network
card received. The benchmark needs root and iproute2.
"""

import ctypes
import os
import shutil
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
from absl import app, flags

from benchmarks.support import forks, network, peers

_MEGABYTES = flags.DEFINE_list(
  'megabytes', ['1', '10', '100'], 'Sizes, in 10^6 bytes.'
)
_GIGABITS = flags.DEFINE_list('gigabits', ['1', '10'], 'Bandwidths, in Gbit/s.')
_READERS = flags.DEFINE_integer('readers', 4, 'Readers on the other host.')
_REPEATS = flags.DEFINE_integer('repeats', 5, 'Pushes for each figure.')

_LEAVES = 20
_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
# Each host gets a folder of its own in place of this one.
_MEMORY = '/dev/shm'
_PEERS = (
  lambda: peers.Container('container', host_cache=True),
  peers.TfAgents,
  peers.Courier,
)
_HEADER = 'Gbit/s      MB  way            ms, median   MB received   times ours'


class Row(NamedTuple):
  """The medians for one way to move weights.

  Attributes:
    peer: the way's name.
    milliseconds: from the start of a push until the last reader has the
      weights.
    received_mb: 10^6 bytes that the readers' network card received for a push.
  """

  peer: str
  milliseconds: float
  received_mb: float


def _on(namespace: str, make: Callable[[], dict]) -> dict[str, Callable]:
  """Moves this process to a host with its own shared memory, and calls `make`.

  Args:
    namespace: the name of the host's network namespace.
    make: returns the functions that answer the process's calls, by name.
  """
  libc = ctypes.CDLL(None, use_errno=True)
  descriptor = os.open(f'/var/run/netns/{namespace}', os.O_RDONLY)
  _check(libc.setns(descriptor, _CLONE_NEWNET))
  os.close(descriptor)
  _check(libc.unshare(_CLONE_NEWNS))
  _check(libc.mount(None, b'/', None, _MS_REC | _MS_PRIVATE, None))
  memory = os.path.join(_MEMORY, namespace)
  os.makedirs(memory, exist_ok=True)
  _check(libc.mount(memory.encode(), _MEMORY.encode(), None, _MS_BIND, None))
  return make()


def _check(result: int) -> None:
  if result:
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code))


def _serving(peer: peers.Peer, values: peers.Nest, host: str) -> dict:
  address, kept = peer.serve(values)
  port = address.rpartition(':')[2]
  return {'address': lambda: f'{host}:{port}', 'kept': lambda: bool(kept)}


def _pushing(peer: peers.Peer, address: str, values: peers.Nest) -> dict:
  push = peer.pusher(address, values)

  def timed() -> float:
    start = time.monotonic()
    push()
    return start

  return {'push': timed}


def _reading(peer: peers.Peer, address: str, values: peers.Nest) -> dict:
  pull = peer.reader(address, values)

  def timed() -> float:
    pull()
    return time.monotonic()

  return {'pull': timed}


def measure(
  net: network.Network, make_peer: Callable[[], peers.Peer], megabytes: float
) -> Row:
  """Times one way to move weights.

  Args:
    net: the two hosts.
    make_peer: makes the way to move weights.
    megabytes: the size of the weights, in 10^6 bytes.
  """
  values = peers.make_values(megabytes, _LEAVES)
  peer = make_peer()
  a, b = (net.namespace(host) for host in ('a', 'b'))
  host = net.addresses['a']
  started = [
    forks.ForkedProcess(lambda: _on(a, lambda: _serving(peer, values, host)))
  ]
  try:
    address = started[0].call('address')
    pusher = forks.ForkedProcess(
      lambda: _on(a, lambda: _pushing(peer, address, values))
    )
    reader_processes = [
      forks.ForkedProcess(
        lambda: _on(b, lambda: _reading(make_peer(), address, values))
      )
      for _ in range(_READERS.value)
    ]
    started += [pusher, *reader_processes]
    seconds, received = [], []
    for repeat in range(_REPEATS.value + 1):
      before = net.received_bytes('b')
      start = pusher.call('push')
      for reader in reader_processes:
        reader.start('pull')
      end = max(reader.result() for reader in reader_processes)
      if repeat:  # The first push is not counted, since it also connects.
        seconds.append(end - start)
        received.append(net.received_bytes('b') - before)
  finally:
    for process in reversed(started):
      process.close()
    for namespace in (a, b):
      shutil.rmtree(os.path.join(_MEMORY, namespace), ignore_errors=True)
  return Row(
    peer.name,
    statistics.median(seconds) * 1e3,
    statistics.median(received) / 1e6,
  )


def main(_) -> None:
  reason = network.missing()
  if reason:
    raise SystemExit(reason)
  jax.config.update('jax_platforms', 'cpu')
  print(f'{_READERS.value} readers on the other host\n\n{_HEADER}', flush=True)
  for gigabits in _GIGABITS.value:
    for megabytes in map(float, _MEGABYTES.value):
      ours = None
      for make_peer in _PEERS:
        with network.connected() as net:
          net.limit(f'{gigabits}gbit')
          row = measure(net, make_peer, megabytes)
        ours = ours or row.milliseconds
        print(
          f'{gigabits:>6} {megabytes:>7g}  {row.peer:<13} '
          f'{row.milliseconds:>11,.1f} {row.received_mb:>13,.1f} '
          f'{row.milliseconds / ours:>12.1f}',
          flush=True,
        )


if __name__ == '__main__':
  app.run(main)
