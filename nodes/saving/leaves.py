"""One leaf of a state, as JSON and bytes that hold a value alone."""

from typing import Any

import jax
import ml_dtypes
import numpy as np

# Leaves of these types are JSON as they are.
PLAIN_TYPES = (type(None), bool, int, float, str)
_WORDS = {str: 'a text', bytes: 'bytes', type(None): 'None'}
_SCALARS = {'b': 'a bool', 'i': 'an integer', 'u': 'an integer', 'f': 'a float'}
# Arrays of other types, such as complex128 and int4, are kept as bytes.
_OF_SAFETENSORS = frozenset(
  f'{kind}{bits}'
  for kind in ('int', 'uint', 'float')
  for bits in (8, 16, 32, 64)
) | {'bool', 'bfloat16'}


class UnsavableError(TypeError):
  """A state has a leaf that is not a value; the message names its path."""


def encode(path: str, leaf: Any) -> tuple[list[Any], np.ndarray | None]:
  """Returns a leaf as JSON for `decode`, and its array if it has one.

  Args:
    path: the leaf's path in the state, for errors.
    leaf: the leaf.

  Raises:
    UnsavableError: the leaf is not a value.
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
    f"the learner's state has a {what} at {path}, and a checkpoint holds "
    'arrays, random keys, numbers and texts alone, so that to load one runs '
    "no code. Make the learner's save() return one of these in its place."
  )


def decode(how: list[Any], data: np.ndarray | None) -> Any:
  """Returns a leaf again.

  Args:
    how: the JSON that `encode` returned: a kind, and what it needs.
    data: the bytes of the leaf's array, uint8[size], if it has one.

  Raises:
    Exception: the JSON is not what `encode` returns.
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
  """Returns what must be the same of a saved leaf and a current one."""
  if _is_key(leaf):
    return f'random key {jax.random.key_impl(leaf)}{list(leaf.shape)}'
  if isinstance(leaf, bool | int | float):
    # A count begins as a Python number, and is an array after its first step.
    leaf = np.asarray(leaf)
  if not hasattr(leaf, 'shape'):
    return _WORDS.get(type(leaf), type(leaf).__name__)
  kind = getattr(leaf.dtype, 'kind', None)
  if leaf.shape == () and kind in _SCALARS:
    return _SCALARS[kind]
  return f'{leaf.dtype}{list(leaf.shape)}'


def _dtype(name: str) -> np.dtype | None:
  """Returns the numeric dtype of a name, NumPy's own or JAX's, or None."""
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
