"""Finds numbers that are not finite, in the process where they arise.

One NaN in a batch makes every weight a NaN. So each role uses this module to
check the numbers that it produces.
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
# If so many episodes in a row are not finite, the environment is broken.
_MAX_DROPPED_IN_A_ROW = 100
_WAY_OUT = (
  'The run stops before the learner learns from it. With '
  '--non_finite=continue the run goes on, and leaves out such numbers.'
)


class NonFiniteError(ArithmeticError):
  """A NaN or an infinity was found in data, in weights or in an action.

  Attributes:
    ends_run: tells the backend to end the run, since a restarted process would
      probably find the same again.
  """

  ends_run = True


def find(nest: Any, name: str = '') -> str | None:
  """Returns where a nest is not finite, such as `weight['w'][3] is nan`.

  It waits for JAX arrays that are still being computed.

  Args:
    nest: a nest of arrays and numbers. Leaves without floats count as finite.
    name: what the nest is, such as 'weight'.

  Returns:
    A text that names the first such number, or None if all are finite.
  """
  # A single array skips the flattening: each environment step has four nests.
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
  # For NumPy, JAX's own types such as bfloat16 have the kind `V`.
  if kind not in 'fcV' or (
    kind == 'V' and not jax.dtypes.issubdtype(leaf.dtype, np.inexact)
  ):
    return True
  return bool(np.isfinite(np.asarray(leaf)).all())


class Watch:
  """Decides what one process does about numbers that are not finite.

  Either it ends the run at the first ones, or it leaves them out and counts how
  often that happened.
  """

  def __init__(self, stop: bool = True):
    """Makes a watch that has found nothing yet.

    Args:
      stop: True raises an error at the first find; False logs it.
    """
    self._stop = stop
    self._lock = threading.Lock()
    self._found = self._dropped_in_a_row = 0

  def take(self, text: str) -> None:
    """Records that numbers were left out since they are not finite.

    Args:
      text: says where and when they were found, without a full stop at the end.

    Raises:
      NonFiniteError: this is the first find, and the run must end at it.
    """
    with self._lock:
      self._found += 1
      if self._found > 1:
        return
    if self._stop:
      raise NonFiniteError(f'{text}. {_WAY_OUT}') from None
    logging.warning(
      '%s. It is left out. Later ones are counted, but not logged.', text
    )

  def drop(self, error: NonFiniteError) -> None:
    """Records that the rest of an episode was left out.

    Args:
      error: says where and when the episode was not finite.

    Raises:
      NonFiniteError: this is the first find, and the run must end at it; or too
        many episodes in a row were not finite.
    """
    self._dropped_in_a_row += 1
    if self._dropped_in_a_row >= _MAX_DROPPED_IN_A_ROW:
      raise NonFiniteError(
        f'{error}. Each of the last {_MAX_DROPPED_IN_A_ROW} episodes had such '
        'numbers. Mend the environment.'
      ) from None
    self.take(str(error))

  def end_episode(self) -> None:
    """Records that an episode was finite to its end."""
    self._dropped_in_a_row = 0

  def try_until_finite(
    self, play: Callable[[], _T], forget: Callable[[], None]
  ) -> _T:
    """Calls `play` until all numbers are finite; returns what it returned.

    Args:
      play: plays an episode, or begins one.
      forget: called after each episode that was not finite, before `play` is
        called again.

    Raises:
      NonFiniteError: see `drop`.
    """
    while True:
      try:
        return play()
      except NonFiniteError as error:
        forget()
        self.drop(error)

  def metrics(self) -> dict[str, float]:
    """Returns how often numbers were left out, or {} if they never were."""
    return {metric_names.LEFT_OUT: float(self._found)} if self._found else {}
