"""One table of a Reverb server, and what its rate limiter lets through.

The limiter bounds `diff = inserts * samples_per_insert - samples`: it holds
back a sample that would take `diff` below `min_diff`, and an insert that would
take it above `max_diff`. Until the table holds `min_size` items, nothing is
sampled and every insert goes through.
"""

import math
from typing import NamedTuple

# A limiter without a bound sends the largest double, which is above this.
_UNBOUNDED = 1e300


class TableInfo(NamedTuple):
  """A table of a Reverb server at one moment.

  Attributes:
    name: The table's name.
    size: How many items are in it.
    max_size: How many items it holds at most.
    inserts: How many items were put in so far.
    samples: How many items were sampled so far.
    samples_per_insert: The rate limiter's ratio.
    min_diff: The rate limiter's lower bound of `diff`.
    max_diff: The rate limiter's upper bound of `diff`.
    min_size: How many items the table must hold before one is sampled.
    samplers_waited: Milliseconds in which every open call waited to sample.
    inserters_waited: Milliseconds in which every open call waited to insert.
    signature: A serialized `StructuredValue`; None if the table has none.
  """

  name: str
  size: int = 0
  max_size: int = 0
  inserts: int = 0
  samples: int = 0
  samples_per_insert: float = 0.0
  min_diff: float = 0.0
  max_diff: float = 0.0
  min_size: int = 0
  samplers_waited: int = 0
  inserters_waited: int = 0
  signature: memoryview | None = None

  @property
  def diff(self) -> float:
    return self.inserts * self.samples_per_insert - self.samples

  @property
  def blocks_samples(self) -> bool:
    return self.size < self.min_size or self.diff - 1 < self.min_diff

  @property
  def blocks_inserts(self) -> bool:
    if self.size + 1 <= self.min_size:
      return False
    return self.diff + self.samples_per_insert > self.max_diff

  @property
  def never_fills(self) -> bool:
    """Whether it drops items before it holds enough of them to sample."""
    return 0 < self.max_size < self.min_size

  def describe(self) -> str:
    """Returns the limiter's rule and the table's counts, as text."""
    text = f'{self.inserts:,} inserted, {self.samples:,} sampled'
    if self.size < self.min_size:
      return f'{text}; nothing is sampled below {self.min_size:,} items'
    low, high = _bound(self.min_diff), _bound(self.max_diff)
    if low is None and high is None:
      return text
    return (
      f'{text}; {self.samples_per_insert:g} x inserts - samples = '
      f'{self.diff:,.0f}, kept from {low or "-inf"} to {high or "inf"}'
    )

  @property
  def inserts_missing(self) -> int:
    """How many inserts it takes until a waiting sample goes through."""
    by_size = self.min_size - self.size
    if self.samples_per_insert <= 0:
      return max(by_size, 0)
    by_diff = (self.min_diff + 1 - self.diff) / self.samples_per_insert
    return max(by_size, _round_up(by_diff), 0)

  @property
  def samples_missing(self) -> int:
    """How many samples it takes until a waiting insert goes through."""
    excess = self.diff + self.samples_per_insert - self.max_diff
    return max(_round_up(excess), 0)


def _round_up(value: float) -> int:
  """Returns the next whole number; 0 for infinity or NaN of a broken server."""
  return math.ceil(value) if math.isfinite(value) else 0


def _bound(value: float) -> str | None:
  return None if abs(value) > _UNBOUNDED else f'{value:,.0f}'
