"""Numbers as a line of characters."""

from view import sparkline


def test_from_the_lowest_to_the_highest():
  assert sparkline.sparkline([-7.0, 7.0, -1.0], 10) == '▁█▄'


def test_many_values_become_means():
  line = sparkline.sparkline(list(range(1000)), 8)
  assert line == '▁▂▃▄▅▆▇█'


def test_equal_and_missing_values():
  assert sparkline.sparkline([], 5) == ''
  assert sparkline.sparkline([float('nan')], 5) == ''
  assert sparkline.sparkline([2.0, float('inf'), 2.0], 5) == '▄▄'
