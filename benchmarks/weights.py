"""Measures how fast weights move, from one pusher to several readers.

  python -m benchmarks.weights [--megabytes=0.01,0.1,1] [--readers=1,4,16]

The peers, in the same run, are the calls that TF-Agents' container makes;
Acme's way, in which each reader asks the learner; Ray's object store, if Ray is
installed; and a plain copy in memory, which is the lower limit of all times.

It prints a table and the ratios to the peers, and writes
`docs/images/weights.csv` and `docs/images/weights.png`.
"""

import dataclasses
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from absl import app, flags

from benchmarks import weights_report
from benchmarks.support import forks, peers

_MEGABYTES = flags.DEFINE_list(
  'megabytes',
  ['0.01', '0.1', '1', '10', '100', '400'],
  'Sizes, in 10^6 bytes.',
)
_READERS = flags.DEFINE_list('readers', ['1', '4', '16'], 'Numbers of readers.')
_REPEATS = flags.DEFINE_integer('repeats', 5, 'Pushes for each figure.')
_LEAVES = flags.DEFINE_integer('leaves', 20, 'Leaves of the nest.')
_OUT = flags.DEFINE_string(
  'out',
  str(pathlib.Path(__file__).parents[1] / 'docs' / 'images'),
  'Folder of the CSV and the picture.',
)

_CHECKS = 1000
# A reader that polled without a pause would take a core from the push.
_POLL_SECONDS = 0.0005


def _serving(peer: peers.Peer, values: peers.Nest) -> dict[str, Callable]:
  address, kept = peer.serve(values)
  return {'address': lambda: address, 'kept': lambda: bool(kept)}


def _pushing(peer, address, values) -> dict[str, Callable]:
  push = peer.pusher(address, values)

  def timed() -> tuple[float, float, float | None]:
    """Returns when the push began and ended, and how long it blocked.

    All are in seconds. The monotonic clock is the same for all processes.
    """
    start = time.monotonic()
    blocked = push()
    return start, time.monotonic(), blocked

  return {'push': timed}


def _reading(peer, address, values) -> dict[str, Callable]:
  pull = peer.reader(address, values)
  checks = []

  def timed() -> float:
    start = time.monotonic()
    pull()
    return time.monotonic() - start

  return {
    'pull': timed,
    # The checker is made before the push, so that it sees a newer version.
    'expect': lambda: checks.append(peer.checker()),
    'news': lambda: _await_news(checks.pop()),
    'no_news': lambda: _no_news(peer.checker()),
    'received': peer.received,
  }


def _no_news(check: Callable[[], Any] | None) -> float | None:
  if check is None:
    return None
  seconds = []
  for _ in range(_CHECKS):
    start = time.monotonic()
    check()
    seconds.append(time.monotonic() - start)
  return statistics.median(seconds)


def _await_news(check: Callable[[], Any]) -> float:
  """Waits for the next version; returns when it came, by the monotonic clock.

  Args:
    check: returns None until there is a newer version.
  """
  while check() is None:
    time.sleep(_POLL_SECONDS)
  return time.monotonic()


def measure(
  make_peer: Callable[[], peers.Peer], megabytes: float, readers: int
) -> weights_report.Row:
  """Times one peer with one payload and one number of readers.

  Args:
    make_peer: makes the peer; it is called again in each reader's process.
    megabytes: the size of the weights, in 10^6 bytes.
    readers: how many readers pull at the same time.
  """
  values = peers.make_values(megabytes, _LEAVES.value)
  peer = make_peer()
  started = [forks.ForkedProcess(lambda: _serving(peer, values))]
  try:
    address = started[0].call('address')
    pusher = forks.ForkedProcess(lambda: _pushing(peer, address, values))
    started.append(pusher)
    reader_processes = [
      forks.ForkedProcess(lambda: _reading(make_peer(), address, values))
      for _ in range(readers)
    ]
    started.extend(reader_processes)
    row = weights_report.Row(megabytes, readers, peer.name)
    row = _time_pulls(row, pusher, reader_processes, _size(values))
    return _time_news(row, pusher, reader_processes[0])
  finally:
    for process in reversed(started):
      process.close()


def _size(values: peers.Nest) -> int:
  return sum(leaf.nbytes for leaf in values.values())


def _time_pulls(
  row: weights_report.Row,
  pusher: forks.ForkedProcess,
  reader_processes: list[forks.ForkedProcess],
  size: int,
) -> weights_report.Row:
  """Times pushes and all readers' pulls; returns the row with these times.

  Args:
    row: the row so far.
    pusher: the process that pushes.
    reader_processes: the processes that pull.
    size: the size of the weights, in bytes.
  """
  pushes, blocked, pulls, received = [], [], [], []
  for repeat in range(_REPEATS.value + 1):
    start, end, wait = pusher.call('push')
    before = [reader.call('received') for reader in reader_processes]
    for reader in reader_processes:
      reader.start('pull')
    new = [reader.result() for reader in reader_processes]
    # The first push and pull also connect, and touch new memory.
    if not repeat:
      continue
    pushes.append(end - start)
    pulls.extend(new)
    if wait is not None:
      blocked.append(wait)
    after = [reader.call('received') for reader in reader_processes]
    is_counted = None not in after
    received.append(
      sum(after) - sum(before) if is_counted else size * len(reader_processes)
    )
  p50 = statistics.median(pulls)
  return dataclasses.replace(
    row,
    push_ms=statistics.median(pushes) * 1e3,
    blocked_ms=statistics.median(blocked) * 1e3 if blocked else None,
    pull_p50_ms=p50 * 1e3,
    pull_p99_ms=float(np.quantile(pulls, 0.99)) * 1e3,
    pull_gb_s=size / p50 / 1e9,
    wire_mb=statistics.median(received) / 1e6,
    # A reader of a peer without versions pulls after the push has ended.
    news_ms=(statistics.median(pushes) + p50) * 1e3,
  )


def _time_news(
  row: weights_report.Row,
  pusher: forks.ForkedProcess,
  reader: forks.ForkedProcess,
) -> weights_report.Row:
  """Times how soon a reader has a new version, for a peer with versions.

  Args:
    row: the row so far.
    pusher: the process that pushes.
    reader: the process that asks for new versions.

  Returns:
    The row with these times, or the same row for a peer without versions.
  """
  no_news = reader.call('no_news')
  if no_news is None:
    return row
  delays = []
  for _ in range(_REPEATS.value):
    reader.call('expect')
    reader.start('news')
    start = pusher.call('push')[0]
    delays.append(reader.result() - start)
  return dataclasses.replace(
    row,
    no_news_us=no_news * 1e6,
    news_ms=statistics.median(delays) * 1e3,
  )


def _memcpy(megabytes: float, readers: int) -> weights_report.Row:
  """Returns a row for a plain copy in memory: the lower limit of all times."""
  values = peers.make_values(megabytes, _LEAVES.value)
  seconds = min(peers.memcpy_seconds(values) for _ in range(5))
  return weights_report.Row(
    megabytes,
    readers,
    'memcpy',
    pull_p50_ms=seconds * 1e3,
    pull_gb_s=_size(values) / seconds / 1e9,
  )


def main(_) -> None:
  rows = []
  weights_report.print_header()
  for megabytes in map(float, _MEGABYTES.value):
    for readers in map(int, _READERS.value):
      group = [
        *(measure(make, megabytes, readers) for make in peers.PEERS),
        _memcpy(megabytes, readers),
      ]
      weights_report.print_rows(group)
      rows.extend(group)
  folder = pathlib.Path(_OUT.value)
  weights_report.write_csv(rows, folder / 'weights.csv')
  weights_report.draw(rows, folder / 'weights.png')


if __name__ == '__main__':
  app.run(main)
