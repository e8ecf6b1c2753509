"""Shows what `benchmarks.weights` measured: as a table, a CSV and a picture."""

import csv
import pathlib
from collections.abc import Sequence
from typing import Any

import matplotlib

from benchmarks.support import peers

Row = dict[str, Any]

# Times are in milliseconds; that of `no news`, a check that finds no newer
# version, is in microseconds. `news` lasts from the start of a push until the
# first reader has it. `wire MB` came over the network to all readers together.
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
# Title, this program's column and row, and the peers' column. A ratio above one
# is in this program's favour.
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
  titles = (
    f'{title:<28}' if name == 'peer' else f'{title:>8}'
    for name, title in _COLUMNS.items()
  )
  print(' '.join(titles), flush=True)


def print_rows(group: Sequence[Row]) -> None:
  """Prints the rows of one payload and number of readers, then the ratios."""
  for row in group:
    print(' '.join(_cell(name, row.get(name)) for name in _COLUMNS))
  by_peer = {row['peer']: row for row in group}
  for title, (ours, peer), theirs in _RATIOS:
    ratios = [
      f'{row[theirs] / by_peer[peer][ours]:.1f} x {name}'
      for name, row in by_peer.items()
      if not name.startswith('container') and row.get(theirs, 0) > 0.1
    ]
    print(f'  {title}: faster than the peers by {", ".join(ratios)}')
  print(flush=True)


def write_csv(rows: Sequence[Row], path: pathlib.Path) -> None:
  with open(path, 'w', newline='') as file:
    writer = csv.DictWriter(file, _COLUMNS)
    writer.writeheader()
    for row in rows:
      writer.writerow(
        {
          name: f'{value:.4g}' if isinstance(value, float) else value
          for name, value in row.items()
        }
      )


def draw(rows: Sequence[Row], path: pathlib.Path) -> None:
  """Draws pulls for each number of readers, and what a push costs."""
  matplotlib.use('Agg')
  from matplotlib import pyplot as plt

  counts = sorted({row['readers'] for row in rows})
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
  for index, name in enumerate(dict.fromkeys(row['peer'] for row in rows)):
    points = [
      (row['payload_mb'], row[column])
      for row in rows
      if row['peer'] == name
      and row['readers'] == count
      and row.get(column) is not None
      and not (column == 'push_ms' and row[column] < 0.1)  # Courier has none.
    ]
    style = '-' if name.startswith('container') else '--'
    if points:
      xs, ys = zip(*points, strict=True)
      axis.loglog(xs, ys, style, marker='o', color=f'C{index}', label=name)
  axis.grid(alpha=0.3)
