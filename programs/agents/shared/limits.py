"""Types of settings that say which values a setting can have.

  sigma: limits.NonNegative = 0.1

is a float that cannot be negative. `--config=sigma=-1` is refused in one
sentence, before anything heavy is imported. `programs.replay_tables` finds the
values that only Reverb refuses.
"""

import inspect
import math
import typing
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

# Acme's agents let the ratio of samples to inserts be off by this share.
_TOLERANCE = 0.1


class Limit(NamedTuple):
  """A condition on a setting's value.

  Attributes:
    is_kept: returns whether a value meets the condition.
    otherwise: what is wrong with other values. It is the end of a sentence that
      begins with the setting and its value.
  """

  is_kept: Callable[[Any], bool]
  otherwise: str


# Reverb and JAX compute with int32 and float32.
_IS_INT32 = Limit(lambda x: abs(x) < 2**31, ' is too great a number')
_IS_FLOAT32 = Limit(lambda x: abs(x) <= 3.4e38, ' is too great a number')

# A whole number of things.
Count = Annotated[int, Limit(lambda x: x >= 1, ' is not above 0'), _IS_INT32]
CountOrZero = Annotated[int, Limit(lambda x: x >= 0, ' is below 0'), _IS_INT32]
Several = Annotated[
  int, Limit(lambda x: x >= 2, ' is too few; give it 2 or more'), _IS_INT32
]
Real = Annotated[float, _IS_FLOAT32]
NonNegative = Annotated[
  float, Limit(lambda x: x >= 0, ' is below 0'), _IS_FLOAT32
]
Positive = Annotated[
  float, Limit(lambda x: x > 0, ' is not above 0'), _IS_FLOAT32
]
Share = Annotated[
  float, Limit(lambda x: 0 <= x <= 1, ' is not between 0 and 1')
]
# The number of units in each of a network's layers.
LayerSizes = Annotated[
  tuple[int, ...],
  Limit(
    lambda sizes: bool(sizes) and min(sizes) >= 1,
    ': at least one layer is needed, and 1 or more in each',
  ),
]


def limits_of(config_type: type) -> dict[str, tuple[Limit, ...]]:
  """Returns the limits of those fields of a dataclass that have any.

  A subclass that overrides a field with a plain annotation of the same type,
  such as `float`, keeps the limits that its base class gave the field.
  """
  types = typing.get_type_hints(config_type)
  limits: dict[str, tuple[Limit, ...]] = {}
  for ancestor in reversed(config_type.__mro__):
    hints = typing.get_type_hints(ancestor, include_extras=True)
    for name in inspect.get_annotations(ancestor):
      hint = hints[name]
      # The limits of another type might not be able to judge the value.
      if typing.get_origin(hint) is Annotated and (
        hint.__origin__ == types[name]
      ):
        nearest = tuple(x for x in hint.__metadata__ if isinstance(x, Limit))
        limits[name] = nearest or limits.get(name, ())
  return limits


def check(config: Any) -> None:
  """Checks the limits of all settings.

  Args:
    config: a dataclass.

  Raises:
    ValueError: a setting does not keep its limits; the message names it.
  """
  for name, limits in limits_of(type(config)).items():
    value = getattr(config, name)
    for limit in limits:
      if not limit.is_kept(value):
        raise ValueError(f'{name}={value}{limit.otherwise}')


def check_replay(
  min_size: int, max_size: int, samples_per_insert: float, cause: str
) -> None:
  """Checks that replay makes neither actors nor learner wait for ever.

  Args:
    min_size: number of items in replay before learning starts.
    max_size: number of items that replay keeps at most.
    samples_per_insert: how often an item is sampled on average; 0 sets no
      limit.
    cause: the settings that decide `samples_per_insert`, with their values, for
      the error.

  Raises:
    ValueError: the actors or the learner would wait for ever.
  """
  if min_size > max_size:
    raise ValueError(
      f'min_replay_size={min_size} is above max_replay_size={max_size}, so '
      'learning would never start'
    )
  if not samples_per_insert:
    return
  # Reverb's error buffer must have room for one insert and for one sample.
  # Otherwise actors and learner might wait for each other.
  step = max(1.0, 1 / samples_per_insert)
  needed = math.ceil(step / _TOLERANCE - 1e-6)
  if min_size < needed:
    raise ValueError(
      f'min_replay_size={min_size} is too small for {cause}: actors and '
      f'learner would wait for each other; give it {needed} or more'
    )
