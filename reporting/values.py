"""Metrics as Python numbers, without importing the library that made them."""

from typing import Any

import numpy as np


def to_python(value: Any) -> int | float | str | None:
  """Returns a metric as a number, or as text if it is not one.

  Args:
    value: a Python, NumPy, JAX or TensorFlow scalar, an array of one element,
      text, or None. Any other array is described by its text.
  """
  if value is None or isinstance(value, (str, int, float)):
    return value
  array = np.asarray(value)
  if array.size != 1 or array.dtype == object:
    return str(value)
  if array.dtype.kind in 'biu':
    return int(array.reshape(()))
  # Not `item()`, which leaves a bfloat16 as it is.
  return float(array.reshape(()))
