"""What a run came to, in a few lines of text."""

import itertools
import pathlib

import numpy as np

from reporting import curve
from run_files import metric_names, metrics, rates

_FINAL_EPISODES = 5
_LEFT_OUT = (
  ('actor', 'episodes of actors'),
  ('evaluator', 'episodes of evaluators'),
  ('learner', 'weights of the learner'),
)


def summarize(run_dir: str | pathlib.Path, wall_time: float) -> str:
  """Returns the summary of a run.

  Args:
    run_dir: the run directory, whose CSV files are read. Lines for which they
      have no data are left out.
    wall_time: for how many seconds the run has gone on since its start or its
      resumption. Rates are means over this time.
  """
  actors = metrics.by_time(metrics.read(run_dir, 'actor'))
  learner = metrics.by_time(metrics.read(run_dir, 'learner'))
  lines = {
    'wall time': f'{wall_time:,.1f} s',
    'actor steps': _steps(actors, metric_names.ACTOR_STEPS, wall_time),
    'learner steps': _steps(learner, metric_names.LEARNER_STEPS, wall_time)
    or 'none: nothing was learned',
    'evaluation': _evaluation(run_dir),
    'weights': _weights(actors, learner),
    'not finite': _left_out(run_dir),
  }
  return '\n'.join(f'{k:<15}{v}' for k, v in lines.items() if v)


def final_return(run_dir: str | pathlib.Path) -> float:
  """Returns the mean return of the last 5 evaluations; NaN without any.

  Returns that are NaN or infinite do not count.
  """
  _, returns = curve.evaluations(run_dir)
  finite = returns[-_FINAL_EPISODES:]
  finite = finite[np.isfinite(finite)]
  return float(finite.mean()) if len(finite) else np.nan


def _steps(rows: list[metrics.Row], name: str, wall_time: float) -> str:
  counts = metrics.column(rows, name)
  if not counts:
    return ''
  text = f'{max(counts):,.0f}'
  points = rates.points(rows, name)
  rate = None
  if points:
    rate = rates.per_second(points, since=points[-1].time - wall_time)
  return text if rate is None else f'{text}  ({rate:,.1f} a second)'


def _evaluation(run_dir: str | pathlib.Path) -> str:
  _, returns = curve.evaluations(run_dir)
  if not len(returns):
    return 'none was finished'
  count = min(_FINAL_EPISODES, len(returns))
  bad = np.count_nonzero(~np.isfinite(returns))
  note = f'; {bad:,} of them not finite' if bad else ''
  return (
    f'return {returns[0]:,.1f} at first, {final_return(run_dir):,.1f} at the '
    f'end  (mean of the last {count} of {len(returns)}{note})'
  )


def _left_out(run_dir: str | pathlib.Path) -> str:
  parts = []
  for label, what in _LEFT_OUT:
    finds = [
      _total(counts)
      for rows in metrics.read(run_dir, label)
      if (counts := metrics.column(rows, metric_names.LEFT_OUT))
    ]
    if finds:
      parts.append(f'{what} {sum(finds):,.0f}')
  return f'left out: {", ".join(parts)}' if parts else ''


def _weights(actors: list[metrics.Row], learner: list[metrics.Row]) -> str:
  parts = []
  if pushes := metrics.column(learner, metric_names.WEIGHTS_PUSHES):
    parts.append(f'{_total(pushes):,.0f} pushes')
  if lags := metrics.column(actors, metric_names.WEIGHTS_LAG):
    parts.append(
      f"actors' lag {np.mean(lags):,.1f} versions in the mean, "
      f'{max(lags):,.0f} at most'
    )
  return ', '.join(parts)


def _total(counts: list[float]) -> float:
  """Returns the sum of a count that begins at 0 in each new process."""
  ended = [a for a, b in itertools.pairwise(counts) if b < a]
  return sum(ended) + counts[-1]
