"""The mean of several runs' scores, and its interval."""

import numpy as np
import pytest

from reporting import scores


@pytest.mark.parametrize(
  'values, expected',
  [
    ([5.0], 5.0),
    ([1.0, 2.0, 6.0], 3.0),  # Of three none is left out.
    ([-100.0, 3.0, 5.0, 900.0], 4.0),
    ([8, 1, 7, 2, 6, 3, 5, 4], 4.5),
  ],
)
def test_the_mean_of_the_middle_half(values, expected):
  assert scores.interquartile_mean(values) == pytest.approx(expected)


def test_one_run_has_no_interval_and_none_has_no_mean():
  assert np.isnan(scores.interquartile_mean([]))
  assert scores.interval([3.0]) is None
  assert scores.describe([3.0]) == 'interquartile mean 3.0  of 1 run'


def test_equal_scores_have_an_interval_of_no_width():
  assert scores.interval([2.0, 2.0, 2.0]) == (2.0, 2.0)


def test_the_interval_covers_the_mean_as_often_as_it_says():
  random = np.random.default_rng(0)
  trials = 200
  ends = [scores.interval(random.normal(10, 2, size=20)) for _ in range(trials)]
  covered = sum(low <= 10 <= high for low, high in ends) / trials
  assert 0.88 < covered < 0.99
