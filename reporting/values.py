"""Metrics as Python numbers, without importing the library that made them."""

from typing import Any

import numpy as np


def to_python(value: Any) -> int | float | str | None:
  """Returns a metric as a number, or as one line of text if it is none.

  Args:
    value: a scalar of Python, NumPy, JAX or TensorFlow, an array of one
      element, text, or None. Any other array becomes its text.
  """
  if value is None or isinstance(value, (int, float)):
    return value
  if isinstance(value, str):
    return _line(value)
  array = np.asarray(value)
  if array.size != 1 or array.dtype == object:
    return _line(str(value))
  if array.dtype.kind in 'biu':
    return int(array.reshape(()))
  # Not `item()`, which leaves a bfloat16 as it is.
  return float(array.reshape(()))


def _line(text: str) -> str:
  # Readers of CSV files rely on each row being one line.
  return ' '.join(text.splitlines())
