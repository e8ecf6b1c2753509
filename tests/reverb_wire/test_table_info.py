"""The rule of Reverb's rate limiter, in numbers."""

import pytest

from reverb_wire import table_info

_RATIO = table_info.TableInfo(
  'ratio',
  max_size=100,
  samples_per_insert=4.0,
  min_size=5,
  min_diff=0.0,
  max_diff=40.0,
)


@pytest.mark.parametrize(
  'size, inserts, samples, blocks_samples, blocks_inserts, missing',
  [
    (3, 3, 0, True, False, (2, 0)),
    (6, 6, 24, True, False, (1, 0)),
    (6, 6, 10, False, False, (0, 0)),
    (10, 10, 0, False, True, (0, 4)),
  ],
)
def test_who_is_blocked_and_by_how_much(
  size, inserts, samples, blocks_samples, blocks_inserts, missing
):
  table = _RATIO._replace(size=size, inserts=inserts, samples=samples)
  assert table.blocks_samples == blocks_samples
  assert table.blocks_inserts == blocks_inserts
  if blocks_samples:
    assert table.inserts_missing == missing[0]
  assert table.samples_missing == missing[1]


def test_a_range_too_narrow_blocks_both():
  table = _RATIO._replace(
    size=1, min_size=1, inserts=1, samples=3, min_diff=1.0, max_diff=2.0
  )
  assert table.blocks_samples
  assert table.blocks_inserts
  assert '= 1, kept from 1 to 2' in table.describe()


def test_a_table_smaller_than_sampling_needs_never_fills():
  assert _RATIO._replace(max_size=4).never_fills
  assert not _RATIO.never_fills


def test_a_limiter_without_bounds_is_not_described():
  table = _RATIO._replace(
    size=6, inserts=6, min_diff=-1.7e308, max_diff=1.7e308
  )
  assert table.describe() == '6 inserted, 0 sampled'
