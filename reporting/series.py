"""The curves of a report's figures, of one run or of several seeds together.

A value that is not finite is left out and counted.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from reporting import curve
from reporting import run_groups as runs_lib
from run_files import metric_names, metrics

WINDOW = 5
_GRID = 150
_MAX_BINS = 40
_ROWS_A_BIN = 2


@dataclasses.dataclass(frozen=True)
class Series:
  """A curve.

  Attributes:
    x: where its points are, float64[n], rising.
    y: their values, float64[n]; of several runs, the means.
    low: the lowest of several runs, float64[n]; None for one run alone.
    high: the highest of several runs, float64[n]; None for one run alone.
    left_out: how many values were not finite.
  """

  x: np.ndarray
  y: np.ndarray
  low: np.ndarray | None = None
  high: np.ndarray | None = None
  left_out: int = 0


def returns_by_steps(run: runs_lib.Run) -> Series:
  """Returns the mean return of the last five evaluations against steps."""
  return _smooth(*curve.evaluations(run.path))


def returns_by_time(run: runs_lib.Run) -> Series:
  """Returns the mean return of the last five evaluations against seconds."""
  times, returns = _columns(
    run.evaluators, metric_names.TIME, metric_names.EVALUATION_RETURN
  )
  return _smooth(run.elapsed(times), returns)


def actor_rate(run: runs_lib.Run) -> Series:
  """Returns the steps a second of all actors together, against seconds."""
  return _rate(run, run.actors, metric_names.ACTOR_STEPS)


def learner_rate(run: runs_lib.Run) -> Series:
  """Returns the learner's steps a second, against seconds."""
  return _rate(run, run.learner, metric_names.LEARNER_STEPS)


def lag(run: runs_lib.Run) -> Series:
  """Returns how many versions old the actors' weights are, against seconds."""
  times, lags = _columns(
    run.actors, metric_names.TIME, metric_names.WEIGHTS_LAG
  )
  # The mean is over long parts, since the lag jumps from episode to episode.
  num_bins = max(1, _num_bins(len(lags)) // 2)
  return _binned(run.elapsed(times), lags, num_bins)


def loss(run: runs_lib.Run, name: str) -> Series:
  """Returns one of the learner's losses against its steps."""
  return _binned(*_columns(run.learner, metric_names.LEARNER_STEPS, name))


def loss_names(runs: Sequence[runs_lib.Run]) -> list[str]:
  """Returns the names of all losses that learners report."""
  rows = itertools.chain.from_iterable(run.learner for run in runs)
  columns = dict.fromkeys(itertools.chain.from_iterable(rows))
  return [c for c in columns if c.startswith('learner/') and 'loss' in c]


def combine(several: Sequence[Series]) -> Series | None:
  """Returns the mean of several runs' curves, with the lowest and the highest.

  Args:
    several: a curve for each run. At any x, the curves count that span it.

  Returns:
    The curve; None if no run has a point.
  """
  left_out = sum(series.left_out for series in several)
  several = [series for series in several if len(series.x)]
  if not several:
    return None
  if len(several) == 1:
    return dataclasses.replace(several[0], left_out=left_out)
  start = min(series.x[0] for series in several)
  end = max(series.x[-1] for series in several)
  x = np.linspace(start, end, _GRID)
  values = np.stack(
    [np.interp(x, s.x, s.y, left=np.nan, right=np.nan) for s in several]
  )
  some = ~np.isnan(values).all(axis=0)
  x, values = x[some], values[:, some]
  low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
  return Series(x, np.nanmean(values, axis=0), low, high, left_out)


def _columns(rows: Sequence[metrics.Row], x: str, y: str) -> np.ndarray:
  points = [(row[x], row[y]) for row in rows if x in row and y in row]
  return np.array(points, np.float64).reshape(-1, 2).T


def _smooth(x: np.ndarray, y: np.ndarray) -> Series:
  kept = np.isfinite(y)
  means = curve.running_mean(y[kept], WINDOW)
  series = _binned(x[kept], means, _GRID)
  return dataclasses.replace(series, left_out=int((~kept).sum()))


def _rate(run: runs_lib.Run, rows: Sequence[metrics.Row], count: str) -> Series:
  times, counts = _columns(rows, metric_names.TIME, count)
  seconds = run.elapsed(times)
  if len(times) < 2 or seconds[0] == seconds[-1]:
    return Series(*np.zeros((2, 0)))
  # A count may fall: a learner that is restarted goes on from its checkpoint,
  # and a process knows the others' counts late.
  counts = np.maximum.accumulate(counts)
  edges = np.linspace(seconds[0], seconds[-1], _num_bins(len(times)) + 1)
  risen = np.diff(np.interp(edges, seconds, counts))
  return Series((edges[1:] + edges[:-1]) / 2, risen / np.diff(edges))


def _num_bins(num_rows: int) -> int:
  return int(np.clip(num_rows // _ROWS_A_BIN, 1, _MAX_BINS))


def _binned(x: np.ndarray, y: np.ndarray, num_bins: int = 0) -> Series:
  """Returns means over equal parts of the x axis; of few points, at each x."""
  kept = np.isfinite(x) & np.isfinite(y)
  left_out = int((~kept).sum())
  x, y = x[kept], y[kept]
  num_bins = num_bins or _num_bins(len(x))
  if len(x) <= max(num_bins, 2 * _ROWS_A_BIN):
    _, index = np.unique(x, return_inverse=True)
  else:
    edges = np.linspace(x.min(), x.max(), num_bins + 1)
    index = np.searchsorted(edges[1:-1], x, side='right')
  counts = np.bincount(index)
  some = counts > 0
  means = [np.bincount(index, each)[some] / counts[some] for each in (x, y)]
  return Series(*means, left_out=left_out)
