"""Steps a second, from rows of metrics."""

import pytest

from run_files import rates


def _points(*pairs):
  return [rates.Point(*pair) for pair in pairs]


def test_points_are_those_of_rows_that_have_the_count():
  rows = [
    {'time': 2.0, 'actor/steps': 20.0},
    {'time': 1.0, 'actor/steps': 10.0},
    {'time': 3.0},
    {'actor/steps': 40.0},
  ]
  assert rates.points(rows, 'actor/steps') == _points((1, 10), (2, 20))


@pytest.mark.parametrize(
  'counts, since, expected',
  [
    ([], 0, None),
    ([(1, 5)], 0, None),
    ([(1, 5), (1, 9)], 0, None),
    ([(0, 100), (10, 200)], 0, 10.0),
    ([(0, 0), (90, 100), (100, 200)], 50, 10.0),
    # What one process knows of another's count is late.
    ([(0, 100), (5, 210), (10, 200)], 0, 11.0),
  ],
)
def test_rate(counts, since, expected):
  assert rates.per_second(_points(*counts), since) == expected


@pytest.mark.parametrize(
  'now, expected',
  [
    (100, 10.0),
    # The last points count even if they are old.
    (110, 10.0),
    # After as long without a step, the rate falls.
    (140, 200 / 60),
  ],
)
def test_rate_at_present(now, expected):
  counts = _points((80, 800), (90, 900), (100, 1000))
  rate = rates.per_second_now(counts, now, seconds=60.0, min_points=3)
  assert rate == pytest.approx(expected)


def test_only_the_last_seconds_count_if_they_have_points_enough():
  counts = _points((0, 0), (10, 9000), (90, 9100), (100, 9200))
  rate = rates.per_second_now(counts, 100, seconds=30.0, min_points=2)
  assert rate == 10.0
  rate = rates.per_second_now(counts, 100, seconds=30.0, min_points=4)
  assert rate == 92.0
