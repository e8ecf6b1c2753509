"""A process's state as bytes of plain values; reading them runs no code.

The bytes are a safetensors file. It has the arrays by their paths in the state.
Its metadata has a JSON text with the other leaves, and a hash of everything.
Containers (dicts, tuples, dataclasses) are not saved. When a state is restored,
the saved leaves are put into the containers of a newly made state.
"""

import copy
import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
import safetensors
import safetensors.numpy

from nodes.saving import leaves as leaves_lib

_FORMAT = 'launchpad-rl checkpoint 2'


class MismatchError(ValueError):
  """A saved state belongs to another agent or to other networks."""


class Saved(NamedTuple):
  """A saved state that was read.

  Attributes:
    facts: texts and numbers by name, which were saved with the state.
    leaves: the leaves of the state, by path.
  """

  facts: dict[str, Any]
  leaves: dict[str, Any]

  def fit(self, current: Any) -> Any:
    """Returns the saved leaves in the containers of another state.

    Args:
      current: a newly made state of the same agent.

    Raises:
      MismatchError: the two states have different leaves; the message names the
        first difference.
    """
    check_same(self.leaves, flatten(current))
    return _replaced(current, self.leaves)


def to_bytes(state: Any, facts: Mapping[str, Any]) -> bytes:
  """Returns a state as bytes that `from_bytes` can read.

  Args:
    state: a nest of dataclasses and of the containers that JAX knows. Its
      leaves are arrays of NumPy or JAX, random keys, numbers, texts and None.
    facts: texts and numbers by name, which are saved with the state.

  Raises:
    leaves.UnsavableError: the state has a leaf of another type.
  """
  arrays, described = {}, {}
  for path, leaf in flatten(state).items():
    described[path], array = leaves_lib.encode(path, leaf)
    if array is not None:
      arrays[path] = array
  text = json.dumps({'facts': dict(facts), 'leaves': described})
  metadata = {'format': _FORMAT, 'state': text, 'sha256': _hash(text, arrays)}
  return safetensors.numpy.save(arrays, metadata)


def from_bytes(content: bytes) -> Saved:
  """Returns the state and the facts that `to_bytes` was called with.

  Raises:
    ValueError: the bytes are damaged, or `to_bytes` did not make them.
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
      path: leaves_lib.decode(how, arrays.get(path))
      for path, how in state['leaves'].items()
    }
    return Saved(dict(state['facts']), leaves)
  except Exception as e:  # A damaged file can cause any error.
    raise ValueError(f'{type(e).__name__}: {e}') from None


def flatten(nest: Any, prefix: str = '') -> dict[str, Any]:
  """Returns the leaves of a nest by their paths.

  Args:
    nest: a nest like the state of `to_bytes`.
    prefix: the path of the nest itself.

  Raises:
    leaves.UnsavableError: two leaves have the same path.
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
      raise leaves_lib.UnsavableError(
        f'two leaves of the state have the same path, {name}'
      )
    leaves |= found
  return leaves


def check_same(saved: Mapping[str, Any], current: Mapping[str, Any]) -> None:
  """Checks that saved leaves have the paths, shapes and types of current ones.

  Args:
    saved: leaves by path.
    current: leaves by path.

  Raises:
    MismatchError: a leaf differs; the message names the first one.
  """
  for path in sorted(current.keys() | saved.keys()):
    found, expected = (
      leaves_lib.describe(leaves[path]) if path in leaves else 'nothing'
      for leaves in (saved, current)
    )
    if found != expected:
      raise MismatchError(
        f'the checkpoint was made by another agent or network: at {path} it '
        f'has {found}, this one {expected}. Resume with the flags of the run '
        'that made it, or use another --run_dir.'
      )


def _replaced(nest: Any, leaves: Mapping[str, Any], prefix: str = '') -> Any:
  """Returns a copy of a nest with other leaves.

  Args:
    nest: a nest like the state of `to_bytes`.
    leaves: the new leaves by their paths, as `flatten` names them.
    prefix: the path of the nest itself.
  """
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
  """Returns whether JAX must not flatten a nest, since this module does it."""
  return nest is None or _is_record(nest)


def _is_record(nest: Any) -> bool:
  return dataclasses.is_dataclass(nest) and not isinstance(nest, type)


def _children(record: Any) -> Iterator[tuple[str, Any]]:
  """Yields a dataclass's fields: the name and value of each.

  JAX treats some fields as static. Of these it yields only plain values.
  """
  for field in dataclasses.fields(record):
    value = getattr(record, field.name)
    is_static = field.metadata.get('static', False) or not field.metadata.get(
      'pytree_node', True
    )
    if not is_static or type(value) in leaves_lib.PLAIN_TYPES:
      yield field.name, value


def _hash(text: str, arrays: Mapping[str, np.ndarray]) -> str:
  """Returns the SHA-256, in hex, of a text and of arrays and their names."""
  digest = hashlib.sha256(text.encode())
  for name in sorted(arrays):
    digest.update(name.encode())
    digest.update(arrays[name].reshape(-1).view(np.uint8))
  return digest.hexdigest()
