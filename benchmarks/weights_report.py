"""Shows the results of `benchmarks.weights` as a table, a CSV and a picture."""

import csv
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import matplotlib

from benchmarks.support import peers


@dataclasses.dataclass(frozen=True)
class Row:
  """The figures of one peer with one payload and one number of readers.

  A figure is None if the peer does not have it.

  Attributes:
    payload_mb: the size of the weights, in 10^6 bytes.
    readers: how many readers pulled at the same time.
    peer: the peer's name.
    push_ms: the median of a push, in milliseconds.
    blocked_ms: the median time for which a push blocks the learner, in
      milliseconds.
    pull_p50_ms: the median of a pull, in milliseconds.
    pull_p99_ms: the 99th percentile of a pull, in milliseconds.
    pull_gb_s: the payload divided by the median of a pull, in 10^9 bytes per
      second.
    news_ms: the median time from the start of a push until a reader has the
      new version, in milliseconds.
    no_news_us: the median of a check that finds no newer version, in
      microseconds.
    wire_mb: 10^6 bytes that go over the network to all readers together after
      a push.
  """

  payload_mb: float
  readers: int
  peer: str
  push_ms: float | None = None
  blocked_ms: float | None = None
  pull_p50_ms: float | None = None
  pull_p99_ms: float | None = None
  pull_gb_s: float | None = None
  news_ms: float | None = None
  no_news_us: float | None = None
  wire_mb: float | None = None


# The title of each of a row's figures.
_COLUMNS = {
  'payload_mb': 'MB',
  'readers': 'readers',
  'peer': 'way',
  'push_ms': 'push',
  'blocked_ms': 'blocked',
  'pull_p50_ms': 'pull p50',
  'pull_p99_ms': 'p99',
  'pull_gb_s': 'GB/s',
  'news_ms': 'news',
  'no_news_us': 'no news',
  'wire_mb': 'wire MB',
}
# A shorter push is not shown: with Courier nothing is pushed.
_LEAST_MS = 0.1
# Each has a title, this program's column and row, and the peers' column. If a
# ratio is above one, this program is faster.
_RATIOS = (
  ('pull, mapped', ('pull_p50_ms', peers.MAPPED), 'pull_p50_ms'),
  ('pull, copied', ('pull_p50_ms', peers.COPIED), 'pull_p50_ms'),
  ('pull, network', ('pull_p50_ms', peers.NETWORK), 'pull_p50_ms'),
  ('push, network', ('push_ms', peers.NETWORK), 'push_ms'),
  ('push to first reader', ('news_ms', peers.MAPPED), 'news_ms'),
)


def _cell(name: str, value: Any) -> str:
  if name == 'peer':
    return f'{value:<28}'
  if value is None:
    text = ''
  elif isinstance(value, int):
    text = str(value)
  else:
    text = f'{value:.3g}' if value < 100 else f'{value:.0f}'
  return f'{text:>8}'


def print_header() -> None:
  """Prints the columns' titles."""
  titles = (
    f'{title:<28}' if name == 'peer' else f'{title:>8}'
    for name, title in _COLUMNS.items()
  )
  print(' '.join(titles), flush=True)


def print_rows(group: Sequence[Row]) -> None:
  """Prints the rows of one payload and number of readers, then the ratios."""
  for row in group:
    print(' '.join(_cell(name, getattr(row, name)) for name in _COLUMNS))
  by_peer = {row.peer: row for row in group}
  for title, (ours, peer), theirs in _RATIOS:
    ratios = [
      f'{getattr(row, theirs) / getattr(by_peer[peer], ours):.1f} x {name}'
      for name, row in by_peer.items()
      if not name.startswith('container')
      and (getattr(row, theirs) or 0) > _LEAST_MS
    ]
    print(f'  {title}: faster than the peers by {", ".join(ratios)}')
  print(flush=True)


def write_csv(rows: Sequence[Row], path: pathlib.Path) -> None:
  """Writes all rows to a CSV file, with the fields' names at its head."""
  with open(path, 'w', newline='') as file:
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    for row in rows:
      values = (getattr(row, name) for name in _COLUMNS)
      writer.writerow(
        f'{value:.4g}' if isinstance(value, float) else value
        for value in values
      )


def draw(rows: Sequence[Row], path: pathlib.Path) -> None:
  """Draws the times of pulls for each number of readers, and of pushes."""
  matplotlib.use('Agg')
  from matplotlib import pyplot as plt

  counts = sorted({row.readers for row in rows})
  panels = [
    (f'pull, {count} reader{"s" * (count > 1)}', 'pull_p50_ms', count)
    for count in counts
  ]
  panels += [
    ('push', 'push_ms', counts[0]),
    ('push to first reader', 'news_ms', counts[0]),
    ('learner blocked', 'blocked_ms', counts[0]),
  ]
  columns = max(3, len(counts))
  figure, grid = plt.subplots(
    2, columns, figsize=(4.5 * columns, 8), sharex=True, squeeze=False
  )
  axes = [*grid[0][: len(counts)], *grid[1][:3]]
  for axis in {*grid.flat} - {*axes}:
    axis.set_axis_off()
  for axis, (title, column, count) in zip(axes, panels, strict=True):
    _draw_panel(axis, rows, column, count)
    axis.set_title(title)
  figure.legend(
    *axes[0].get_legend_handles_labels(), loc='lower center', ncol=4
  )
  figure.supxlabel('payload (MB)', y=0.075)
  figure.supylabel('median (ms)')
  figure.tight_layout(rect=(0, 0.075, 1, 1))
  figure.savefig(path, dpi=110)


def _draw_panel(axis: Any, rows: Sequence[Row], column: str, count: int):
  for index, name in enumerate(dict.fromkeys(row.peer for row in rows)):
    points = [
      (row.payload_mb, getattr(row, column))
      for row in rows
      if row.peer == name
      and row.readers == count
      and getattr(row, column) is not None
      and not (column == 'push_ms' and row.push_ms < _LEAST_MS)
    ]
    style = '-' if name.startswith('container') else '--'
    if points:
      xs, ys = zip(*points, strict=True)
      axis.loglog(xs, ys, style, marker='o', color=f'C{index}', label=name)
  axis.grid(alpha=0.3)
