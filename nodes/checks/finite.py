"""Finds numbers that are not finite, in the process where they arise.

One NaN in a batch makes every weight a NaN. So each role checks the numbers
that it makes, with what is here.
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
# So many bad episodes in a row are no accident.
_MAX_DROPPED_IN_A_ROW = 100
_WAY_OUT = (
  'The run stops before anything learns from it. With --non_finite=continue '
  'it goes on, and leaves out what is not finite.'
)


class NonFiniteError(ArithmeticError):
  """A NaN or an infinity was found where something would learn from it.

  Attributes:
    ends_run: tells the backend to end the run, since a restarted process would
      meet the same again.
  """

  ends_run = True


def find(nest: Any, name: str = '') -> str | None:
  """Returns where a nest is not finite, such as `weight['w'][3] is nan`.

  Args:
    nest: arrays and numbers, of which those without floats are finite. Arrays
      of JAX are waited for.
    name: what the nest is, such as 'weight'.

  Returns:
    A text that names the first such number, or None if all are finite.
  """
  # A single array is looked at first: each step of an environment has four.
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
  # NumPy says that JAX's own types, such as bfloat16, are of kind `V`.
  if kind not in 'fcV' or (
    kind == 'V' and not jax.dtypes.issubdtype(leaf.dtype, np.inexact)
  ):
    return True
  return bool(np.isfinite(np.asarray(leaf)).all())


class Watch:
  """Counts what one process leaves out since it is not finite, or stops it."""

  def __init__(self, stop: bool = True):
    """Has found nothing so far.

    Args:
      stop: whether the first find is an error. Otherwise it is logged.
    """
    self._stop = stop
    self._lock = threading.Lock()
    self._found = self._dropped_in_a_row = 0

  def take(self, text: str) -> None:
    """Takes note of something that is not finite and was left out.

    Args:
      text: says where and when it was found, without a full stop at the end.

    Raises:
      NonFiniteError: it is the first, and the process is to stop at it.
    """
    with self._lock:
      self._found += 1
      if self._found > 1:
        return
    if self._stop:
      raise NonFiniteError(f'{text}. {_WAY_OUT}') from None
    logging.warning('%s. It is left out; more of these are only counted.', text)

  def drop(self, error: NonFiniteError) -> None:
    """Takes note of an episode that is not finite and was left out.

    Args:
      error: says where and when it was found.

    Raises:
      NonFiniteError: it is the first, and the process is to stop at it; or too
        many episodes in a row were not finite.
    """
    self._dropped_in_a_row += 1
    if self._dropped_in_a_row >= _MAX_DROPPED_IN_A_ROW:
      raise NonFiniteError(
        f'{error}, as in each of the last {_MAX_DROPPED_IN_A_ROW} episodes. '
        'Mend the environment.'
      ) from None
    self.take(str(error))

  def end_episode(self) -> None:
    """Takes note of an episode that was finite to its end."""
    self._dropped_in_a_row = 0

  def try_until_finite(
    self, play: Callable[[], _T], forget: Callable[[], None]
  ) -> _T:
    """Plays again until all numbers are finite; returns what `play` returns.

    Args:
      play: plays an episode, or begins one.
      forget: called after an episode that broke off, before the next one.

    Raises:
      NonFiniteError: for the reasons that `drop` has.
    """
    while True:
      try:
        return play()
      except NonFiniteError as error:
        forget()
        self.drop(error)

  def metrics(self) -> dict[str, float]:
    """Returns how often something was left out, or nothing if it never was."""
    return {metric_names.LEFT_OUT: float(self._found)} if self._found else {}
