"""Numbers that are not finite, found where they arise.

One NaN that is learned from makes NaN of every weight. Every role looks at the
numbers that it makes, so the word for them has a file of its own.
"""

import math
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import compat  # noqa: F401

import jax
import numpy as np
from absl import logging

from run_files import metric_names

_T = TypeVar('_T')
# By then it is no accident.
_MAX_DROPPED_IN_A_ROW = 100
_WAY_OUT = (
  'The run stops before anything learns from it. With --non_finite=continue '
  'it goes on, and leaves out what is not finite.'
)


class NonFiniteError(ArithmeticError):
  """There is a NaN, or an infinity, where something would learn from it.

  Attributes:
    ends_run: a process that started again would meet it again.
  """

  ends_run = True


def find(nest: Any, name: str = '') -> str | None:
  """Returns where a nest is not finite, such as `weight['w'][3] is nan`.

  Args:
    nest: of arrays and numbers; JAX's on an accelerator are waited for. What
      has no float in it is finite.
    name: what the nest is.
  """
  # A step of an environment asks four times.
  is_leaf = isinstance(nest, (np.ndarray, float))
  leaves = [nest] if is_leaf else jax.tree_util.tree_leaves(nest)
  if all(map(_is_finite, leaves)):
    return None
  for path, leaf in jax.tree_util.tree_flatten_with_path(nest)[0]:
    if not _is_finite(leaf):
      leaf = np.asarray(leaf)
      wrong = ~np.isfinite(leaf)
      index = ''.join(f'[{i}]' for i in np.argwhere(wrong)[0])
      count = np.count_nonzero(wrong)
      rest = f' (and {count - 1:,} more)' if count > 1 else ''
      where = f'{name}{jax.tree_util.keystr(path)}{index}'
      return f'{where} is {leaf[wrong][0]}{rest}'.lstrip()
  return None


def _is_finite(leaf: Any) -> bool:
  if isinstance(leaf, float):
    return math.isfinite(leaf)
  kind = getattr(getattr(leaf, 'dtype', None), 'kind', 'O')
  if kind == 'f' and not leaf.shape:
    return math.isfinite(leaf)
  # bfloat16 and its like are `V` to NumPy.
  if kind not in 'fcV' or (
    kind == 'V' and not jax.dtypes.issubdtype(leaf.dtype, np.inexact)
  ):
    return True
  return bool(np.isfinite(np.asarray(leaf)).all())


class Watch:
  """What one process does about numbers that are not finite."""

  def __init__(self, stop: bool = True):
    """Has found none so far.

    Args:
      stop: whether the first of them is an error; else it is logged.
    """
    self._stop = stop
    self._lock = threading.Lock()
    self._found = self._dropped_in_a_row = 0

  def take(self, text: str) -> None:
    """Takes note of what is not finite, and has been left out.

    Args:
      text: whose it is, which it is and when it was made, without a full stop.

    Raises:
      NonFiniteError: it is the first of a process that is to stop at it.
    """
    with self._lock:
      self._found += 1
      if self._found > 1:
        return
    if self._stop:
      raise NonFiniteError(f'{text}. {_WAY_OUT}') from None
    logging.warning('%s. It is left out; more of it is only counted.', text)

  def drop(self, error: NonFiniteError) -> None:
    """Takes note of an episode that is not finite, and has been left out.

    Raises:
      NonFiniteError: as `take`; or no episode has been finite for long.
    """
    self._dropped_in_a_row += 1
    if self._dropped_in_a_row >= _MAX_DROPPED_IN_A_ROW:
      raise NonFiniteError(
        f'{error}, as in the {_MAX_DROPPED_IN_A_ROW} episodes before it. Mend '
        'the environment.'
      ) from None
    self.take(str(error))

  def end_episode(self) -> None:
    """Takes note of an episode that was finite to its end."""
    self._dropped_in_a_row = 0

  def try_until_finite(
    self, play: Callable[[], _T], forget: Callable[[], None]
  ) -> _T:
    """Plays until nothing is met that is not finite; returns what `play` does.

    Args:
      play: plays an episode, or begins one.
      forget: called when it broke off, before the next.

    Raises:
      NonFiniteError: as `drop`.
    """
    while True:
      try:
        return play()
      except NonFiniteError as error:
        forget()
        self.drop(error)

  def metrics(self) -> dict[str, float]:
    """Returns how often something was left out, if it was."""
    return {metric_names.LEFT_OUT: float(self._found)} if self._found else {}
