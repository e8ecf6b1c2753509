"""TensorFlow's numbers for the types of tensors, and NumPy's types for them.

TensorFlow's `types.proto` defines the numbers. Strings and quantized types are
left out. bfloat16 is ml_dtypes' type, as in JAX; TensorFlow registers another
NumPy type of that name.
"""

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BY_NUMBER = {
  1: np.dtype(np.float32),
  2: np.dtype(np.float64),
  3: np.dtype(np.int32),
  4: np.dtype(np.uint8),
  5: np.dtype(np.int16),
  6: np.dtype(np.int8),
  8: np.dtype(np.complex64),
  9: np.dtype(np.int64),
  10: np.dtype(np.bool_),
  14: BFLOAT16,
  17: np.dtype(np.uint16),
  18: np.dtype(np.complex128),
  19: np.dtype(np.float16),
  22: np.dtype(np.uint32),
  23: np.dtype(np.uint64),
}
NUMBERS = {dtype: number for number, dtype in BY_NUMBER.items()}
