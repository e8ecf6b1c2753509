"""A nest of arrays as one row of bytes, and batches of rows as nests of arrays.

Most of what an item costs in Reverb is a cost of each tensor that it has, and
not of each byte. So here an item is one tensor, whatever nest it stands for.
"""

from typing import Any, NamedTuple

import numpy as np
import tree


class UnpackableError(TypeError):
  """An array does not fit into a row."""


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

  def __init__(self, spec: Any):
    """Lays out a row.

    Args:
      spec: a nest of objects with `shape` and `dtype`, such as specs or arrays.
        It may be a table's signature.

    Raises:
      UnpackableError: the size of a dtype is not fixed, as of Python's objects.
    """
    self._spec = tree.map_structure(lambda leaf: 0, spec)
    leaves = tree.flatten_with_path(spec)
    # Arrays of wider numbers come first. So every array is aligned.
    order = sorted(
      range(len(leaves)), key=lambda i: -_dtype(leaves[i][1]).itemsize
    )
    fields, size = {}, 0
    for index in order:
      path, leaf = leaves[index]
      fields[index] = _field('/'.join(map(str, path)), leaf, size)
      size = fields[index].stop
    self._fields = [fields[index] for index in range(len(leaves))]
    widest = max((f.dtype.itemsize for f in self._fields), default=1)
    self._row = np.zeros(max(-(-size // widest), 1) * widest, np.uint8)
    self._views = [field.of(self._row) for field in self._fields]

  @property
  def size(self) -> int:
    """The number of bytes in a row, at least 1."""
    return len(self._row)

  def pack(self, nest: Any) -> np.ndarray:
    """Returns a nest as uint8[size]; the next call writes into the same array.

    Args:
      nest: has the structure of the spec, and its shapes and dtypes.

    Raises:
      UnpackableError: an array has another shape or dtype than its spec.
      ValueError: the nest has another structure.
    """
    tree.assert_same_structure(self._spec, nest, check_types=False)
    for field, view, leaf in zip(
      self._fields, self._views, tree.flatten(nest), strict=True
    ):
      if leaf.dtype != field.dtype or leaf.shape != field.shape:
        raise UnpackableError(
          f'{field.name} is {leaf.dtype}{list(leaf.shape)}, but its spec says '
          f'{field.dtype}{list(field.shape)}'
        )
      view[...] = leaf
    return self._row

  def unpack(self, rows: np.ndarray) -> Any:
    """Returns rows as a nest of arrays, which are views of the rows.

    Args:
      rows: uint8[..., size].

    Returns:
      A nest of arrays of shape [..., *shape].
    """
    return tree.unflatten_as(self._spec, [f.of(rows) for f in self._fields])


def _field(name: str, leaf: Any, start: int) -> _Field:
  dtype, shape = _dtype(leaf), tuple(leaf.shape)
  if dtype.hasobject or not dtype.itemsize:
    raise UnpackableError(f'{name} is {dtype}, which has no fixed size')
  stop = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
  return _Field(name, shape, dtype, start, stop)


def _dtype(leaf: Any) -> np.dtype:
  # TensorFlow's dtypes are not NumPy's.
  return np.dtype(getattr(leaf.dtype, 'as_numpy_dtype', leaf.dtype))
