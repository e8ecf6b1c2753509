"""Measures the CPU time of a push and of a pull, in the caller and the server.

  python -m benchmarks.cpu [--megabytes=100]

Peer: the calls that TF-Agents' container makes.

All calls go over the network, and there is one reader. The benchmark prints
medians in milliseconds: of wall time, and of CPU time in the caller's process
and in the server's. If a call takes no longer than its caller's CPU time, a
faster server would not make it faster.
"""

import statistics
import time
from collections.abc import Callable

from absl import app, flags

from benchmarks.support import forks, peers

_MEGABYTES = flags.DEFINE_float('megabytes', 100.0, 'Size, in 10^6 bytes.')
_CALLS = flags.DEFINE_integer(
  'calls', 10, 'Calls of each kind that are counted.'
)
_NUM_LEAVES = 20
_PEERS = (
  lambda: peers.Container(peers.NETWORK, host_cache=False),
  peers.TfAgents,
)


def _serving(peer: peers.Peer, values: peers.Nest) -> dict[str, Callable]:
  address, kept = peer.serve(values)
  return {
    'address': lambda: address,
    'cpu': time.process_time,
    'kept': lambda: bool(kept),
  }


def _calling(call: Callable[[], object]) -> dict[str, Callable]:
  def timed() -> tuple[float, float]:
    wall, cpu = time.monotonic(), time.process_time()
    call()
    return time.monotonic() - wall, time.process_time() - cpu

  return {'call': timed}


def _measure(
  caller: forks.ForkedProcess, server: forks.ForkedProcess
) -> list[float]:
  before = server.call('cpu')
  wall, cpu = caller.call('call')
  return [wall, cpu, server.call('cpu') - before]


def _compare(make_peer: Callable[[], peers.Peer]) -> None:
  values = peers.make_values(_MEGABYTES.value, _NUM_LEAVES)
  peer = make_peer()
  server = forks.ForkedProcess(lambda: _serving(peer, values))
  address = server.call('address')
  callers = {
    'push': forks.ForkedProcess(
      lambda: _calling(make_peer().pusher(address, values))
    ),
    'pull': forks.ForkedProcess(
      lambda: _calling(make_peer().reader(address, values))
    ),
  }
  rows = {kind: [] for kind in callers}
  for _ in range(_CALLS.value + 1):
    for kind, caller in callers.items():
      rows[kind].append(_measure(caller, server))
  for kind, measured in rows.items():
    columns = zip(*measured[1:], strict=True)
    wall, cpu, served = (1e3 * statistics.median(column) for column in columns)
    print(
      f'{peer.name:<20} {kind}: {wall:6.0f} on the wall, {cpu:6.0f} of CPU in '
      f'the caller, {served:6.0f} in the server',
      flush=True,
    )
  for process in (*callers.values(), server):
    process.close()


def main(_) -> None:
  for make_peer in _PEERS:
    _compare(make_peer)


if __name__ == '__main__':
  app.run(main)
