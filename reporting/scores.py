"""The interquartile mean of several runs, and how certain it is.

The definitions are those of rliable (Agarwal et al., 2021,
https://arxiv.org/abs/2108.13264), for one task.
"""

from collections.abc import Sequence

import numpy as np

_CUT = 0.25
_CONFIDENCE = 0.95
_RESAMPLES = 10_000


def interquartile_mean(scores: Sequence[float]) -> float:
  """Returns the mean of the middle half of the scores; NaN without any.

  Args:
    scores: one for each run. If there are fewer than four, all of them count.
  """
  from scipy import stats

  return float(stats.trim_mean(scores, _CUT)) if len(scores) else np.nan


def interval(scores: Sequence[float]) -> tuple[float, float] | None:
  """Returns the 95 % interval of the interquartile mean, by the bootstrap.

  Its ends are percentiles of the means of many samples of the runs, which are
  drawn with replacement.

  Args:
    scores: one for each run.

  Returns:
    The low and the high end. None for fewer than two runs, since one alone
    does not tell how runs vary.
  """
  from scipy import stats

  if len(scores) < 2:
    return None
  result = stats.bootstrap(
    (np.asarray(scores, np.float64),),
    lambda sample, axis: stats.trim_mean(sample, _CUT, axis=axis),
    n_resamples=_RESAMPLES,
    confidence_level=_CONFIDENCE,
    method='percentile',
    random_state=np.random.default_rng(0),
  )
  low, high = result.confidence_interval
  return float(low), float(high)


def describe(scores: Sequence[float]) -> str:
  """Returns mean, interval and number of runs as one line."""
  text = f'interquartile mean {interquartile_mean(scores):,.1f}'
  if (ends := interval(scores)) is not None:
    text += f'  (95 % interval {ends[0]:,.1f} to {ends[1]:,.1f})'
  return f'{text}  of {len(scores)} {"run" if len(scores) == 1 else "runs"}'
