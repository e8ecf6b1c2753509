"""Draws numbers as a line of characters, which `rich` cannot do."""

import math
from collections.abc import Sequence

_LEVELS = '▁▂▃▄▅▆▇█'


def sparkline(values: Sequence[float], width: int) -> str:
  """Returns a character for each value, higher for a higher value.

  Args:
    values: the numbers; those that are not finite are left out.
    width: the largest number of characters. If there are more values, each
      character is the mean of some neighbours.
  """
  values = _means([v for v in values if math.isfinite(v)], width)
  if not values:
    return ''
  low, high = min(values), max(values)
  # Equal values make a line in the middle.
  scale = (len(_LEVELS) - 1) / (high - low) if high > low else 0.0
  offset = 0.0 if high > low else 3.0
  return ''.join(_LEVELS[round(offset + (v - low) * scale)] for v in values)


def _means(values: Sequence[float], count: int) -> Sequence[float]:
  """Returns `count` means of neighbours; fewer values stay as they are."""
  if len(values) <= count:
    return values
  ends = [len(values) * i // count for i in range(count + 1)]
  return [
    sum(values[a:b]) / (b - a) for a, b in zip(ends, ends[1:], strict=False)
  ]
