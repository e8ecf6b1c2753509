"""A process's state as bytes that hold values alone: to read them runs nothing.

They are a safetensors file: arrays by their paths in the state, and in its
metadata a JSON text with the other leaves and a hash of everything. Containers
are not in it. What is read is put into those of a process that was just made.
"""

import copy
import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

_FORMAT = 'launchpad-rl checkpoint 2'
_PYTHON = (type(None), bool, int, float, str)
_WORDS = {str: 'a text', bytes: 'bytes', type(None): 'None'}
_SCALARS = {'b': 'a bool', 'i': 'an integer', 'u': 'an integer', 'f': 'a float'}
# Other types, such as complex128 and int4, are kept as bytes.
_OF_SAFETENSORS = frozenset(
  f'{kind}{bits}'
  for kind in ('int', 'uint', 'float')
  for bits in (8, 16, 32, 64)
) | {'bool', 'bfloat16'}


class UnsavableError(TypeError):
  """A state holds what is no value; the text names its place."""


class MismatchError(ValueError):
  """A saved state is of another agent or other networks."""


class Saved(NamedTuple):
  """What was saved.

  Attributes:
    facts: texts and numbers by name.
    leaves: of the state, by path.
  """

  facts: dict[str, Any]
  leaves: dict[str, Any]

  def fit(self, current: Any) -> Any:
    """Returns the state, in the containers of a process just made.

    Args:
      current: the state of that process.

    Raises:
      MismatchError: naming what differs.
    """
    check_same(self.leaves, flatten(current))
    return _replaced(current, self.leaves)


def to_bytes(state: Any, facts: Mapping[str, Any]) -> bytes:
  """Returns a state as `from_bytes` reads it.

  Args:
    state: a nest of containers that JAX knows and of dataclasses. Its leaves
      are arrays of NumPy or JAX, random keys, numbers, texts and None.
    facts: texts and numbers by name.

  Raises:
    UnsavableError: there is another leaf.
  """
  arrays, described = {}, {}
  for path, leaf in flatten(state).items():
    described[path], array = _encode(path, leaf)
    if array is not None:
      arrays[path] = array
  text = json.dumps({'facts': dict(facts), 'leaves': described})
  metadata = {'format': _FORMAT, 'state': text, 'sha256': _hash(text, arrays)}
  return safetensors.numpy.save(arrays, metadata)


def from_bytes(content: bytes) -> Saved:
  """Returns what `to_bytes` was given.

  Raises:
    ValueError: it is something else, or damaged.
  """
  try:
    arrays = {
      name: np.frombuffer(tensor['data'], np.uint8)
      for name, tensor in safetensors.deserialize(content)
    }
    size = int.from_bytes(content[:8], 'little')
    metadata = json.loads(content[8:][:size])['__metadata__']
    if metadata['format'] != _FORMAT:
      raise ValueError(f'its format is {metadata["format"]!r}')
    if metadata['sha256'] != _hash(metadata['state'], arrays):
      raise ValueError('its content has changed')
    state = json.loads(metadata['state'])
    leaves = {
      path: _decode(how, arrays.get(path))
      for path, how in state['leaves'].items()
    }
    return Saved(dict(state['facts']), leaves)
  except Exception as e:  # Whatever the file says, it is no more than damaged.
    raise ValueError(f'{type(e).__name__}: {e}') from None


def flatten(nest: Any, prefix: str = '') -> dict[str, Any]:
  """Returns the leaves of a nest by their paths.

  Raises:
    UnsavableError: two of them have one path.
  """
  paths, _ = jax.tree_util.tree_flatten_with_path(nest, is_leaf=_is_open)
  leaves = {}
  for path, leaf in paths:
    name = prefix + jax.tree_util.keystr(path)
    found = {name or 'the top': leaf}
    if _is_record(leaf):
      found = {}
      for field, value in _children(leaf):
        found |= flatten(value, f'{name}.{field}')
    if leaves.keys() & found:
      raise UnsavableError(f'two leaves of the state have one path, {name}')
    leaves |= found
  return leaves


def check_same(saved: Mapping[str, Any], current: Mapping[str, Any]) -> None:
  """Checks that saved leaves fit where the current ones are.

  Raises:
    MismatchError: naming the first leaf that differs.
  """
  for path in sorted(current.keys() | saved.keys()):
    found, expected = (
      _describe(leaves[path]) if path in leaves else 'nothing'
      for leaves in (saved, current)
    )
    if found != expected:
      raise MismatchError(
        f'the checkpoint was made by another agent or network: at {path} it '
        f'has {found}, this one {expected}. Resume with the flags of the run '
        'that made it, or take a new --run_dir.'
      )


def _replaced(nest: Any, leaves: Mapping[str, Any], prefix: str = '') -> Any:
  """Returns a nest with other leaves."""
  paths, tree = jax.tree_util.tree_flatten_with_path(nest, is_leaf=_is_open)
  values = []
  for path, leaf in paths:
    name = prefix + jax.tree_util.keystr(path)
    if not _is_record(leaf):
      values.append(leaves[name or 'the top'])
      continue
    record = copy.copy(leaf)
    for field, value in _children(leaf):
      value = _replaced(value, leaves, f'{name}.{field}')
      object.__setattr__(record, field, value)
    values.append(record)
  return jax.tree_util.tree_unflatten(tree, values)


def _is_open(nest: Any) -> bool:
  """Whether it is looked into here rather than by JAX."""
  return nest is None or _is_record(nest)


def _is_record(nest: Any) -> bool:
  return dataclasses.is_dataclass(nest) and not isinstance(nest, type)


def _children(record: Any) -> Iterator[tuple[str, Any]]:
  """Yields what a dataclass holds, without code that its class put there."""
  for field in dataclasses.fields(record):
    value = getattr(record, field.name)
    is_static = field.metadata.get('static', False) or not field.metadata.get(
      'pytree_node', True
    )
    if not is_static or type(value) in _PYTHON:
      yield field.name, value


def _encode(path: str, leaf: Any) -> tuple[list[Any], np.ndarray | None]:
  """Returns how a leaf is read again, and what of it is an array."""
  if type(leaf) in _PYTHON:
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
    "nothing. Have the learner's save() return it as such."
  )


def _decode(how: list[Any], data: np.ndarray | None) -> Any:
  kind, *rest = how
  if kind == 'value':
    if type(rest[0]) not in _PYTHON:
      raise ValueError('a value is none')
    return rest[0]
  if kind == 'complex':
    return complex(*rest)
  if kind == 'bytes':
    return bytes.fromhex(*rest)
  name, shape = rest
  dtype = _dtype(name)
  if dtype is None:
    raise ValueError(f'{name!r} is no type of numbers')
  array = data.view(dtype).reshape(shape)
  if kind == 'array':
    return array
  if kind == 'scalar':
    return array[()]
  kind, _, implementation = kind.partition(' ')
  if kind != 'key':
    raise ValueError(f'{kind!r} is no kind of leaf')
  return jax.random.wrap_key_data(array, impl=implementation)


def _dtype(name: str) -> np.dtype | None:
  """Returns NumPy's type of numbers of a name: JAX's, if it is not its own."""
  try:
    found = np.dtype(getattr(ml_dtypes, name, name))
  except TypeError:
    return None
  is_known = found.kind in 'biufc' or hasattr(ml_dtypes, name)
  return found if is_known and found.name == name else None


def _hash(text: str, arrays: Mapping[str, np.ndarray]) -> str:
  digest = hashlib.sha256(text.encode())
  for name in sorted(arrays):
    digest.update(name.encode())
    digest.update(arrays[name].reshape(-1).view(np.uint8))
  return digest.hexdigest()


def _is_key(leaf: Any) -> bool:
  return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(
    leaf.dtype, jax.dtypes.prng_key
  )


def _describe(leaf: Any) -> str:
  if _is_key(leaf):
    return f'random key {jax.random.key_impl(leaf)}{list(leaf.shape)}'
  if isinstance(leaf, bool | int | float):
    # A count begins as Python's, and is an array after its first step.
    leaf = np.asarray(leaf)
  if not hasattr(leaf, 'shape'):
    return _WORDS.get(type(leaf), type(leaf).__name__)
  kind = getattr(leaf.dtype, 'kind', None)
  if leaf.shape == () and kind in _SCALARS:
    return _SCALARS[kind]
  return f'{leaf.dtype}{list(leaf.shape)}'
