"""Encodes one leaf of a state as JSON and an array, which hold no code."""

from typing import Any

import jax
import ml_dtypes
import numpy as np

# JSON can hold leaves of these types as they are.
PLAIN_TYPES = (type(None), bool, int, float, str)
_WORDS = {str: 'a text', bytes: 'bytes', type(None): 'None'}
_SCALARS = {'b': 'a bool', 'i': 'an integer', 'u': 'an integer', 'f': 'a float'}
# Arrays of other dtypes, such as complex128 and int4, are saved as bytes.
_OF_SAFETENSORS = frozenset(
  f'{kind}{bits}'
  for kind in ('int', 'uint', 'float')
  for bits in (8, 16, 32, 64)
) | {'bool', 'bfloat16'}


class UnsavableError(TypeError):
  """A leaf of a state is not a plain value; the message names its path."""


def encode(path: str, leaf: Any) -> tuple[list[Any], np.ndarray | None]:
  """Returns a leaf as JSON for `decode`, and its array if it has one.

  Args:
    path: the leaf's path in the state, for errors.
    leaf: the leaf.

  Raises:
    UnsavableError: the leaf is not a plain value.
  """
  if type(leaf) in PLAIN_TYPES:
    return ['value', leaf], None
  if type(leaf) is complex:
    return ['complex', leaf.real, leaf.imag], None
  if type(leaf) is bytes:
    return ['bytes', leaf.hex()], None
  kind = 'array'
  if _is_key(leaf):
    kind = f'key {jax.random.key_impl(leaf)}'
    leaf = jax.random.key_data(leaf)
  elif isinstance(leaf, np.generic):
    kind = 'scalar'
  if isinstance(leaf, np.ndarray | np.generic | jax.Array):
    array = np.asarray(leaf, order='C')
    if _dtype(array.dtype.name) is not None:
      array = array.astype(array.dtype.newbyteorder('='), copy=False)
      how = [kind, array.dtype.name, list(array.shape)]
      if array.dtype.name not in _OF_SAFETENSORS:
        array = np.frombuffer(array.tobytes(), np.uint8)
      return how, array
  what = type(leaf).__name__
  if isinstance(leaf, np.ndarray | np.generic):
    what += f' of {leaf.dtype}'
  raise UnsavableError(
    f"the learner's state has a {what} at {path}, but a checkpoint can only "
    'hold arrays, random keys, numbers and texts, so that loading it runs no '
    "code. Make the learner's save() return one of these in its place."
  )


def decode(how: list[Any], data: np.ndarray | None) -> Any:
  """Returns the leaf that `encode` was called with.

  Args:
    how: the JSON that `encode` returned: the kind of leaf, and then the values
      of that kind, such as dtype and shape.
    data: the bytes of the leaf's array, uint8[size], if it has one.

  Raises:
    Exception: `encode` does not return such JSON.
  """
  kind, *rest = how
  if kind == 'value':
    if type(rest[0]) not in PLAIN_TYPES:
      raise ValueError(f'{rest[0]!r} is not a plain value')
    return rest[0]
  if kind == 'complex':
    return complex(*rest)
  if kind == 'bytes':
    return bytes.fromhex(*rest)
  name, shape = rest
  dtype = _dtype(name)
  if dtype is None:
    raise ValueError(f'{name!r} is not a numeric dtype')
  array = data.view(dtype).reshape(shape)
  if kind == 'array':
    return array
  if kind == 'scalar':
    return array[()]
  kind, _, implementation = kind.partition(' ')
  if kind != 'key':
    raise ValueError(f'{kind!r} is not a kind of leaf')
  return jax.random.wrap_key_data(array, impl=implementation)


def describe(leaf: Any) -> str:
  """Returns a leaf's type and shape as a text.

  A saved leaf fits a current leaf if their texts are the same.
  """
  if _is_key(leaf):
    return f'random key {jax.random.key_impl(leaf)}{list(leaf.shape)}'
  if isinstance(leaf, bool | int | float):
    # A learner's count may begin as a Python number, and be an array later.
    leaf = np.asarray(leaf)
  if not hasattr(leaf, 'shape'):
    return _WORDS.get(type(leaf), type(leaf).__name__)
  kind = getattr(leaf.dtype, 'kind', None)
  if leaf.shape == () and kind in _SCALARS:
    return _SCALARS[kind]
  return f'{leaf.dtype}{list(leaf.shape)}'


def _dtype(name: str) -> np.dtype | None:
  """Returns NumPy's or JAX's numeric dtype of this name, or None."""
  try:
    found = np.dtype(getattr(ml_dtypes, name, name))
  except TypeError:
    return None
  is_known = found.kind in 'biufc' or hasattr(ml_dtypes, name)
  return found if is_known and found.name == name else None


def _is_key(leaf: Any) -> bool:
  return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(
    leaf.dtype, jax.dtypes.prng_key
  )
