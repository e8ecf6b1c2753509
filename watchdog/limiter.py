"""What Reverb's rate limiter lets through, from what a table says of itself.

The limiter bounds `diff = inserts * samples_per_insert - samples`: a sample
waits that would take it below `min_diff`, an insert that would take it above
`max_diff`. Until the table holds `min_size` items nothing is sampled, and every
insert goes through.
"""

import math
from typing import NamedTuple

# A limiter without a bound has the largest double there.
_UNBOUNDED = 1e300


class Table(NamedTuple):
  """A table of a Reverb server at one moment.

  Attributes:
    name: its name.
    size: items in it.
    max_size: items that it holds at most.
    inserts: items put in so far.
    samples: items sampled so far.
    samples_per_insert: of its limiter, as are the next three.
    min_diff: below which nothing is sampled.
    max_diff: above which nothing is inserted.
    min_size: items without which nothing is sampled.
    samplers_waited: milliseconds that it has had nobody but waiting samplers.
    inserters_waited: the same of inserters.
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
    """The limiter's rule and where the table stands in it, in numbers."""
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
    """How many inserts a waiting sample needs."""
    by_size = self.min_size - self.size
    if self.samples_per_insert <= 0:
      return max(by_size, 0)
    by_diff = (self.min_diff + 1 - self.diff) / self.samples_per_insert
    return max(by_size, _above(by_diff), 0)

  @property
  def samples_missing(self) -> int:
    """How many samples a waiting insert needs."""
    return max(_above(self.diff + self.samples_per_insert - self.max_diff), 0)


def _above(value: float) -> int:
  """The next whole number, of a rule that no limiter has as well."""
  return math.ceil(value) if math.isfinite(value) else 0


def _bound(value: float) -> str | None:
  return None if abs(value) > _UNBOUNDED else f'{value:,.0f}'
