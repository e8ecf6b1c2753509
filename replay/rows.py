"""A nest of arrays as one row of bytes, and batches of rows as nests of arrays.

Most of what an item costs in Reverb is a cost of each tensor that it has, and
not of each byte. So here an item is one tensor, whatever nest it stands for.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tree

# Rows have a multiple of this many bytes. So in a row that follows another one,
# too, numbers lie where the processor reads them at once.
_ALIGNMENT = 8


class UnpackableError(ValueError):
  """A nest does not fit into a row."""


class _Field(NamedTuple):
  """One array of a row.

  Attributes:
    name: the array's place in the nest, for messages.
    shape: its shape.
    dtype: its dtype.
    start: the position of its first byte in the row.
    stop: the position after its last byte.
  """

  name: str
  shape: tuple[int, ...]
  dtype: np.dtype
  start: int
  stop: int

  def of(self, rows: np.ndarray) -> np.ndarray:
    """Returns the array in rows, uint8[..., size], without a copy."""
    values = rows[..., self.start : self.stop].view(self.dtype)
    return values.reshape(rows.shape[:-1] + self.shape)


class RowLayout:
  """Says where each array of a nest lies in a row, which is a uint8 vector."""

  def __init__(self, spec: Any, name: str = ''):
    """Lays out a row.

    Args:
      spec: a nest of objects with `shape` and `dtype`, such as specs or arrays.
        It may be a table's signature.
      name: what the nest is, for messages.

    Raises:
      UnpackableError: the size of a dtype is not fixed, as of Python's objects.
    """
    # A dataset returns lists as tuples, whatever it is a dataset of.
    self._spec = tree.traverse(
      lambda part: tuple(part) if isinstance(part, list) else part,
      tree.map_structure(lambda leaf: 0, spec),
      top_down=False,
    )
    self._leaves = _make_flatten(self._spec, name)
    leaves = tree.flatten_with_path(spec)
    # Arrays of wider numbers come first. So every array is aligned.
    order = sorted(
      range(len(leaves)), key=lambda i: -_dtype(leaves[i][1]).itemsize
    )
    fields, size = {}, 0
    for index in order:
      path, leaf = leaves[index]
      fields[index] = _field(
        '/'.join(map(str, (name, *path))).lstrip('/'), leaf, size
      )
      size = fields[index].stop
    self._fields = [fields[index] for index in range(len(leaves))]
    self._size = max(-(-size // _ALIGNMENT), 1) * _ALIGNMENT

  @property
  def size(self) -> int:
    """The number of bytes in a row, at least 8 and a multiple of 8."""
    return self._size

  def pack(self, nest: Any, *batch: int) -> np.ndarray:
    """Returns a nest as a new array, uint8[*batch, size].

    Args:
      nest: has the structure of the spec, and its shapes and dtypes. As in
        NumPy, a Python float is a float64 and an integer an int64.
      *batch: the axes that each array has before those of its spec, if any.

    Raises:
      UnpackableError: the nest has another structure than its spec, or an array
        has another shape or dtype.
    """
    leaves: list[Any] = []
    self._leaves(nest, leaves)
    rows = np.zeros((*batch, self._size), np.uint8)
    for field, leaf in zip(self._fields, leaves, strict=True):
      array = np.asarray(leaf)
      shape = batch + field.shape
      if array.dtype != field.dtype or array.shape != shape:
        raise UnpackableError(
          f'{field.name} is {array.dtype}{list(array.shape)}, but its spec '
          f'says {field.dtype}{list(shape)}'
        )
      field.of(rows)[...] = array
    return rows

  def unpack(self, rows: np.ndarray) -> Any:
    """Returns rows as a nest of arrays, which are views of the rows.

    Args:
      rows: uint8[..., size].

    Returns:
      A nest of arrays of shape [..., *shape].
    """
    return tree.unflatten_as(self._spec, [f.of(rows) for f in self._fields])


def _make_flatten(spec: Any, name: str) -> Callable[[Any, list[Any]], None]:
  """Returns a function that appends a nest's leaves to a list.

  It also checks the structure. For both, `tree` takes four times as long.

  Args:
    spec: a nest of the structure that every nest must have.
    name: the place of `spec` in a greater nest, for messages.
  """
  if not tree.is_nested(spec):
    return lambda nest, leaves: leaves.append(nest)
  is_mapping = isinstance(spec, Mapping)
  # The order is that of `tree.flatten`.
  keys = sorted(spec) if is_mapping else range(len(spec))
  names = getattr(spec, '_fields', keys)
  parts = [
    (key, _make_flatten(spec[key], _join(name, part_name)))
    for key, part_name in zip(keys, names, strict=True)
  ]

  def flatten(nest: Any, leaves: list[Any]) -> None:
    if is_mapping:
      fits = isinstance(nest, Mapping) and nest.keys() == spec.keys()
    else:
      fits = isinstance(nest, tuple | list) and len(nest) == len(parts)
    if not fits:
      raise UnpackableError(
        f'{name or "the nest"} is {nest!r:.200}, but its spec has '
        + (
          f'the keys {", ".join(map(str, keys))}'
          if is_mapping
          else f'{len(parts)} parts'
        )
      )
    for key, part in parts:
      part(nest[key], leaves)

  return flatten


def _join(*names: Any) -> str:
  return '/'.join(str(name) for name in names if name != '')


def _field(name: str, leaf: Any, start: int) -> _Field:
  dtype, shape = _dtype(leaf), tuple(leaf.shape)
  if dtype.hasobject or not dtype.itemsize:
    raise UnpackableError(f'{name} is {dtype}, which has no fixed size')
  stop = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
  return _Field(name, shape, dtype, start, stop)


def _dtype(leaf: Any) -> np.dtype:
  # TensorFlow's dtypes are not NumPy's.
  return np.dtype(getattr(leaf.dtype, 'as_numpy_dtype', leaf.dtype))
