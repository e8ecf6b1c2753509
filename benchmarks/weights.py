"""How fast weights move: this library beside its peers, in one run.

  python -m benchmarks.weights [--megabytes=0.1,1,10,100,400] [--readers=1,4,16]

Prints a table, and writes `weights.csv` and `weights.png` beside this file.
"""

import csv
import ctypes
import multiprocessing
import multiprocessing.connection
import pathlib
import signal
import statistics
import time
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from absl import app, flags

from benchmarks import peers

_MEGABYTES = flags.DEFINE_list(
  'megabytes', ['0.1', '1', '10', '100', '400'], 'Payloads.'
)
_READERS = flags.DEFINE_list('readers', ['1', '4', '16'], 'Readers at a time.')
_REPEATS = flags.DEFINE_integer('repeats', 5, 'Versions pushed per figure.')
_LEAVES = flags.DEFINE_integer('leaves', 20, 'Leaves of the nest.')

_FOLDER = pathlib.Path(__file__).parent
_CALL_SECONDS = 300.0
_CHECKS = 300
_DIE_WITH_PARENT = 1
# A fork of a parent that made no client and no server starts at once.
_FORK = multiprocessing.get_context('fork')
_COLUMNS = (
  *('payload_mb', 'readers', 'peer', 'push_ms', 'pull_p50_ms', 'pull_p99_ms'),
  *('pull_gb_s', 'news_ms', 'no_news_us', 'wire_mb_per_version'),
)


def make_values(megabytes: float, leaves: int, seed: int = 0) -> peers.Nest:
  """A nest of random float32 leaves of equal size."""
  rng = np.random.default_rng(seed)
  size = int(megabytes * 1e6) // 4 // leaves
  return {
    f'leaf_{i:03d}': rng.standard_normal(size, np.float32)
    for i in range(leaves)
  }


class Role:
  """A forked process which does what it is told, one call at a time."""

  def __init__(self, make: Callable[[], dict[str, Callable]]):
    self._pipe, theirs = _FORK.Pipe()
    self._process = _FORK.Process(
      target=_obey, args=(theirs, make), daemon=True
    )
    self._process.start()

  def start(self, call: str) -> None:
    self._pipe.send(call)

  def result(self) -> Any:
    if not self._pipe.poll(_CALL_SECONDS):
      raise TimeoutError(f'No answer within {_CALL_SECONDS:g} s.')
    result = self._pipe.recv()
    if isinstance(result, Exception):
      raise result
    return result

  def call(self, call: str) -> Any:
    self.start(call)
    return self.result()

  def close(self) -> None:
    # Later forks hold this pipe, too: closing it would tell nobody.
    self._pipe.send(None)
    self._process.join(10)
    if self._process.is_alive():
      self._process.kill()


def _obey(pipe: multiprocessing.connection.Connection, make: Callable) -> None:
  ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
  calls = make()
  while True:
    call = pipe.recv()
    if call is None:
      return
    try:
      pipe.send(calls[call]())
    except Exception as error:  # It belongs to whoever asked.
      pipe.send(error)


def _seconds(call: Callable[[], Any]) -> tuple[float, float]:
  """When a call began and ended, on the clock all processes share."""
  start = time.monotonic()
  call()
  return start, time.monotonic()


def _serving(peer: peers.Peer, values: peers.Nest) -> dict[str, Callable]:
  address, kept = peer.serve(values)
  return {'address': lambda: address, 'kept': lambda: bool(kept)}


def _pushing(peer, address, values) -> dict[str, Callable]:
  push = peer.pusher(address, values)
  return {'push': lambda: _seconds(lambda: push(values))}


def _reading(peer, address, values) -> dict[str, Callable]:
  pull = peer.reader(address, values)
  checks = []

  def no_news() -> float | None:
    check = peer.checker(address, values)
    if check is None:
      return None
    return statistics.median(
      end - start for start, end in (_seconds(check) for _ in range(_CHECKS))
    )

  return {
    'pull': lambda: _seconds(pull),
    # Made before the push, so that the push is news to it.
    'expect': lambda: checks.append(peer.checker(address, values)),
    'news': lambda: _await_news(checks.pop()),
    'no_news': no_news,
    'received': getattr(peer, 'received', lambda: None),
  }


def _await_news(check: Callable[[], Any]) -> float:
  """When this reader has the next version, however it learns of it."""
  while check() is None:
    pass
  return time.monotonic()


def measure(
  make_peer: Callable[[], peers.Peer], megabytes: float, readers: int
) -> dict[str, Any]:
  """Times one peer with one payload and one number of readers."""
  values = make_values(megabytes, _LEAVES.value)
  peer = make_peer()
  roles = [Role(lambda: _serving(peer, values))]
  try:
    address = roles[0].call('address')
    pusher = Role(lambda: _pushing(peer, address, values))
    roles.append(pusher)
    crowd = [
      Role(lambda: _reading(make_peer(), address, values))
      for _ in range(readers)
    ]
    roles.extend(crowd)
    return {
      'payload_mb': megabytes,
      'readers': readers,
      'peer': peer.name,
      **_measure(pusher, crowd, sum(leaf.nbytes for leaf in values.values())),
    }
  finally:
    for role in reversed(roles):
      role.close()


def _measure(pusher: Role, crowd: list[Role], size: int) -> dict[str, Any]:
  pushes, pulls, received = [], [], []
  for repeat in range(_REPEATS.value + 1):
    push = pusher.call('push')
    before = [reader.call('received') for reader in crowd]
    for reader in crowd:
      reader.start('pull')
    new = [reader.result() for reader in crowd]
    if repeat:  # The first connects, and touches new memory.
      pushes.append(push[1] - push[0])
      pulls.extend(end - start for start, end in new)
      after = [reader.call('received') for reader in crowd]
      if None not in after:
        received.append(sum(after) - sum(before))
      else:
        received.append(size * len(crowd))
  no_news = crowd[0].call('no_news')
  p50 = statistics.median(pulls)
  row = {
    'push_ms': statistics.median(pushes) * 1e3,
    'pull_p50_ms': p50 * 1e3,
    'pull_p99_ms': float(np.quantile(pulls, 0.99)) * 1e3,
    'pull_gb_s': size / p50 / 1e9,
    'wire_mb_per_version': statistics.median(received) / 1e6,
    'news_ms': (statistics.median(pushes) + p50) * 1e3,
  }
  if no_news is not None:
    row['no_news_us'] = no_news * 1e6
    delays = []
    for _ in range(_REPEATS.value):
      crowd[0].call('expect')
      crowd[0].start('news')
      start = pusher.call('push')[0]
      delays.append(crowd[0].result() - start)
    row['news_ms'] = statistics.median(delays) * 1e3
  return row


def _print_row(row: dict[str, Any]) -> None:
  cells = [row.get(column) for column in _COLUMNS]
  print(
    ' '.join(
      f'{cell:>12.4g}' if isinstance(cell, float) else f'{cell or "":>21}'
      for cell in cells
    ),
    flush=True,
  )


def _draw(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
  matplotlib.use('Agg')
  from matplotlib import pyplot as plt

  counts = sorted({row['readers'] for row in rows})
  figure, axes = plt.subplots(
    1, len(counts), figsize=(4.5 * len(counts), 4), sharey=True, squeeze=False
  )
  for axis, count in zip(axes[0], counts, strict=True):
    for name in dict.fromkeys(row['peer'] for row in rows):
      points = [
        (row['payload_mb'], row['pull_p50_ms'])
        for row in rows
        if row['peer'] == name and row['readers'] == count
      ]
      axis.loglog(*zip(*points, strict=True), marker='o', label=name)
    axis.set_title(f'{count} reader{"s" if count > 1 else ""}')
    axis.set_xlabel('payload (MB)')
    axis.grid(alpha=0.3)
  axes[0][0].set_ylabel('pull of a new version (ms, median)')
  axes[0][0].legend()
  figure.tight_layout()
  figure.savefig(path, dpi=120)


def main(_) -> None:
  rows = []
  print(' '.join(f'{column:>12}' for column in _COLUMNS))
  for megabytes in map(float, _MEGABYTES.value):
    for readers in map(int, _READERS.value):
      for make_peer in peers.PEERS:
        rows.append(measure(make_peer, megabytes, readers))
        _print_row(rows[-1])
    values = make_values(megabytes, _LEAVES.value)
    seconds = min(
      peers.memcpy_seconds(values, time.monotonic) for _ in range(5)
    )
    for readers in map(int, _READERS.value):
      rows.append(
        {
          'payload_mb': megabytes,
          'readers': readers,
          'peer': 'memcpy',
          'pull_p50_ms': seconds * 1e3,
        }
      )
    _print_row(rows[-1])
  with open(_FOLDER / 'weights.csv', 'w', newline='') as file:
    writer = csv.DictWriter(file, _COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
  _draw(rows, _FOLDER / 'weights.png')


if __name__ == '__main__':
  app.run(main)
