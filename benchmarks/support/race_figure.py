"""Draws the results of `benchmarks.single_machine`."""

import math
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib

# For each panel: the column of a row, and the panel's title.
_PANELS = (
  ('steps_s', 'environment steps per second'),
  ('goal_s', 'seconds until the return is reached'),
)


def draw(rows: Sequence[NamedTuple], path: pathlib.Path) -> None:
  """Draws a bar for each side: one row of panels for each work.

  Args:
    rows: rows of `benchmarks.single_machine`.
    path: the picture to write.
  """
  matplotlib.use('Agg')
  from matplotlib import pyplot as plt

  works = list(dict.fromkeys(row.work for row in rows))
  figure, grid = plt.subplots(
    len(works), 2, figsize=(10, 0.8 + 1.7 * len(works)), squeeze=False
  )
  for axes, work in zip(grid, works, strict=True):
    of_work = [row for row in rows if row.work == work]
    for axis, (column, title) in zip(axes, _PANELS, strict=True):
      _draw_panel(axis, of_work, column)
      axis.set_title(f'{work}: {title}', fontsize=10)
  figure.tight_layout()
  figure.savefig(path, dpi=110)
  plt.close(figure)


def _draw_panel(axis: Any, rows: Sequence[NamedTuple], column: str) -> None:
  values = [getattr(row, column) for row in rows]
  # A side that did not reach the return has no bar.
  widths = [0.0 if math.isinf(value) else value for value in values]
  bars = axis.barh(
    [row.side for row in rows],
    widths,
    color=[f'C{index}' for index in range(len(rows))],
  )
  labels = [
    'not in time' if math.isinf(value) else f'{value:,.0f}' for value in values
  ]
  axis.bar_label(bars, labels, padding=3)
  axis.margins(x=0.2)
  axis.invert_yaxis()
