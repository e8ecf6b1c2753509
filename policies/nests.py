"""Checks and converts a policy's observations and actions by their specs.

A spec is JSON: `{'dict': {name: spec}}`, `{'tuple': [spec, ...]}`, or
`{'array': {...}}` with shape, dtype and bounds. This module needs only NumPy.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def flatten(spec: Mapping[str, Any], nest: Any, name: str) -> list[np.ndarray]:
  """Returns the leaves of a nest, in the order of its spec.

  Args:
    spec: the spec of the nest.
    nest: a nest of dicts, tuples or lists, and arrays.
    name: what the nest is, such as 'observation', for errors.

  Raises:
    ValueError: the nest differs from its spec; the message names the leaf.
  """
  ((kind, inner),) = spec.items()
  if kind == 'array':
    return [_leaf(inner, nest, name)]
  if kind == 'dict':
    if not isinstance(nest, Mapping) or set(nest) != set(inner):
      raise ValueError(f'{name} is not a dict of {", ".join(inner)}')
    parts = [(inner[key], nest[key], f'{name}/{key}') for key in inner]
  else:
    if not isinstance(nest, tuple | list) or len(nest) != len(inner):
      raise ValueError(f'{name} is not a sequence of {len(inner)}')
    parts = [(part, nest[i], f'{name}/{i}') for i, part in enumerate(inner)]
  return [leaf for part in parts for leaf in flatten(*part)]


def _leaf(spec: Mapping[str, Any], value: Any, name: str) -> np.ndarray:
  """Returns a value as an array of the spec's dtype.

  Raises:
    ValueError: the value has another shape, or the dtype cannot hold it.
  """
  array, dtype = np.asarray(value), np.dtype(spec['dtype'])
  if array.shape != tuple(spec['shape']):
    raise ValueError(
      f'{name}: expected shape {spec["shape"]}, got {list(array.shape)}'
    )
  if not np.can_cast(array.dtype, dtype, 'same_kind'):
    raise ValueError(f'{name}: expected {dtype}, got {array.dtype}')
  with np.errstate(over='ignore'):
    cast = array.astype(dtype)
  is_kept = cast == array
  if dtype.kind == 'f':
    is_kept = np.isfinite(cast) | ~np.isfinite(array)
  if not np.all(is_kept):
    raise ValueError(f'{name}: {dtype} cannot hold {array[~is_kept].flat[0]}')
  return cast


def unflatten(spec: Mapping[str, Any], leaves: Iterator[np.ndarray]) -> Any:
  """Returns the nest that a spec describes: dicts and tuples of arrays.

  Args:
    spec: the spec of the nest.
    leaves: the nest's leaves, in the order of the spec.
  """
  ((kind, inner),) = spec.items()
  if kind == 'array':
    return next(leaves)
  if kind == 'dict':
    return {name: unflatten(part, leaves) for name, part in inner.items()}
  return tuple(unflatten(part, leaves) for part in inner)
