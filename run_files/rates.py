"""How fast a count of metrics rises: the one estimate of steps a second."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from run_files import metric_names, metrics


class Point(NamedTuple):
  """The value of a count at one time.

  Attributes:
    time: in seconds, by any clock that all points share.
    count: the value.
  """

  time: float
  count: float


def points(rows: Iterable[metrics.Row], name: str) -> list[Point]:
  """Returns the points of the rows that have a count, in the order of time.

  Args:
    rows: rows of one process or of several.
    name: the count's column, such as `actor/steps`.
  """
  return sorted(
    Point(row[metric_names.TIME], row[name])
    for row in rows
    if name in row and metric_names.TIME in row
  )


def per_second(
  counts: Sequence[Point], since: float = float('-inf')
) -> float | None:
  """Returns by how much a count rose a second; None if that is unknown.

  Args:
    counts: the points, in the order of time. Processes report each other's
      counts a moment late, so a later count may be lower.
    since: points before this time are left out.
  """
  recent = [point for point in counts if point.time >= since]
  if len(recent) < 2 or recent[-1].time == recent[0].time:
    return None
  values = [point.count for point in recent]
  return (max(values) - min(values)) / (recent[-1].time - recent[0].time)


def per_second_now(
  counts: Sequence[Point], now: float, seconds: float, min_points: int
) -> float | None:
  """Returns by how much a count rises a second at present.

  Args:
    counts: the points, in the order of time.
    now: the present time.
    seconds: the rate is a mean over this many of the last seconds.
    min_points: at least this many of the last points are used, even if they
      are older.
  """
  recent = [point for point in counts if point.time > now - seconds]
  if len(recent) < min_points:
    recent = list(counts[-min_points:])
  if len(recent) > 1:
    idle, lasted = now - recent[-1].time, recent[-1].time - recent[0].time
    # A count that has not risen for longer than that has become slower.
    if idle > lasted:
      recent.append(Point(now, recent[-1].count))
  return per_second(recent)
