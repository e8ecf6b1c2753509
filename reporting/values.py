"""Metrics as Python numbers, without importing the library that made them."""

from typing import Any

import numpy as np


def to_python(value: Any) -> int | float | str | None:
  """Returns a metric as a number, or as a line of text if it is not one.

  Args:
    value: a Python, NumPy, JAX or TensorFlow scalar, an array of one element,
      text, or None. Any other array is described by its text.
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
  # Whoever reads rows may then take a line for one.
  return ' '.join(text.splitlines())
