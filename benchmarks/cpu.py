"""Where the time of a push and of a pull goes: CPU at both ends.

  python -m benchmarks.cpu [--megabytes=100]

Over the network, one reader, medians, in milliseconds: on the wall, and of CPU
in the caller's process and in the server's. A call that is as long as its
caller's CPU cannot be helped by a faster server.
"""

import statistics
import time
from collections.abc import Callable

from absl import app, flags

from benchmarks.support import crew, peers

_MEGABYTES = flags.DEFINE_float('megabytes', 100.0, 'Payload.')
_CALLS = flags.DEFINE_integer('calls', 10, 'Of each kind, after a first.')
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


def _measure(caller: crew.Role, server: crew.Role) -> list[float]:
  before = server.call('cpu')
  wall, cpu = caller.call('call')
  return [wall, cpu, server.call('cpu') - before]


def _compare(make_peer: Callable[[], peers.Peer]) -> None:
  values = peers.make_values(_MEGABYTES.value, _NUM_LEAVES)
  peer = make_peer()
  server = crew.Role(lambda: _serving(peer, values))
  address = server.call('address')
  callers = {
    'push': crew.Role(lambda: _calling(make_peer().pusher(address, values))),
    'pull': crew.Role(lambda: _calling(make_peer().reader(address, values))),
  }
  rows = {what: [] for what in callers}
  for _ in range(_CALLS.value + 1):
    for what, caller in callers.items():
      rows[what].append(_measure(caller, server))
  for what, measured in rows.items():
    columns = zip(*measured[1:], strict=True)
    wall, cpu, served = (1e3 * statistics.median(column) for column in columns)
    print(
      f'{peer.name:<20} {what}: {wall:6.0f} on the wall, {cpu:6.0f} of CPU in '
      f'the caller, {served:6.0f} in the server',
      flush=True,
    )
  for role in (*callers.values(), server):
    role.close()


def main(_) -> None:
  for make_peer in _PEERS:
    _compare(make_peer)


if __name__ == '__main__':
  app.run(main)
