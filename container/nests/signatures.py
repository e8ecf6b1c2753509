"""The signature of a table: the path, shape and dtype of each leaf.

It is made from a nest, or read from the signature that a server sends.
"""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from container.nests import structure, structure_json
from reverb_wire import dtypes, structured_value

# The dtypes that Python's scalars have in a table made from example values.
_SCALAR_DTYPES = {
  bool: np.dtype(np.bool_),
  int: np.dtype(np.int32),
  float: np.dtype(np.float32),
  complex: np.dtype(np.complex64),
}
_MAX_CHANGES = 5


class LeafSpec(NamedTuple):
  """One leaf of a table.

  Attributes:
    path: The leaf's path in the nest.
    shape: The size of each dimension, or None for a dimension of any size. The
      whole shape is None if any shape fits.
    dtype: The NumPy dtype of the caller's array.
    wire_dtype: The NumPy dtype in which the table stores and sends the leaf.
  """

  path: structure.Path
  shape: tuple[int | None, ...] | None
  dtype: np.dtype
  wire_dtype: np.dtype

  @property
  def dtype_number(self) -> int:
    """TensorFlow's number for `wire_dtype`."""
    return dtypes.NUMBERS[self.wire_dtype]

  def __str__(self):
    return describe(self.dtype, self.shape)


class Signature(NamedTuple):
  """What a table holds.

  Attributes:
    node: The nest's containers.
    leaves: The nest's leaves, in the order in which Reverb flattens the nest.
  """

  node: structure.Node
  leaves: tuple[LeafSpec, ...]


def describe(dtype: Any, shape: Sequence[int | None] | None) -> str:
  """Returns a leaf's dtype and shape as text, such as `float32[64, 3]`."""
  if shape is None:
    return f'{np.dtype(dtype).name}[...]'
  sizes = ', '.join('?' if size is None else str(size) for size in shape)
  return f'{np.dtype(dtype).name}[{sizes}]'


def at_path(path: structure.Path, problem: str) -> str:
  """Returns a message about a leaf, which begins with the leaf's path."""
  return f'{structure.path_name(path)}: {problem}'


def signature_of(
  specs_or_values: Any, wire_dtype: str | None = None
) -> Signature:
  """Returns the signature of a table that can hold a nest.

  Args:
    specs_or_values: A nest whose leaves have a shape and a dtype, or are
      Python scalars.
    wire_dtype: The name of the dtype in which the table stores and sends
      float32 and float64 leaves; None for their own dtypes.

  Raises:
    TypeError: a leaf cannot be held in a table.
    ValueError: the nest has no leaf.
  """
  node, leaves = structure.split(specs_or_values)
  if not leaves:
    raise ValueError('A variable table needs at least one leaf; got none.')
  specs = []
  for path, leaf in leaves.items():
    shape, dtype = _shape_and_dtype(path, leaf)
    on_wire = dtype
    if wire_dtype is not None and dtype.kind == 'f' and dtype.itemsize > 2:
      on_wire = np.dtype(getattr(ml_dtypes, wire_dtype, wire_dtype))
    specs.append(LeafSpec(path, shape, dtype, on_wire))
  return Signature(node, tuple(specs))


def spec_names(signature: Signature) -> dict[structure.Path, str]:
  """Returns a name for each of a table's specs, by the leaf's path.

  The names also carry what Reverb's signature lacks: the caller's dtypes and
  containers. `read_signature` reads them. A leaf's name is its path, followed
  by the caller's dtype if the table has another one. The first leaf's name also
  describes the caller's containers.
  """
  names = {}
  for spec in signature.leaves:
    names[spec.path] = structure.path_name(spec.path)
    if spec.dtype != spec.wire_dtype:
      names[spec.path] += f'|{spec.dtype.name}'
  first = signature.leaves[0].path
  names[first] += f'\n{structure_json.encode(signature.node)}'
  return names


def read_signature(signature: memoryview, seconds: float) -> Signature:
  """Reads any table's signature, whether or not its specs have `spec_names`.

  Args:
    signature: The serialized signature as a server sends it.
    seconds: The seconds that reading may take.

  Raises:
    MalformedError: these bytes are not a signature, or reading took too long.
    TypeError: the table holds something that is not a variable.
  """
  found = {}
  node = _read_node(structured_value.read(signature, seconds), (), found)
  leaves = {path: found[path] for path in structure.ordered_paths(node)}
  specs = []
  for path, leaf in leaves.items():
    if leaf.dtype not in dtypes.BY_NUMBER:
      raise TypeError(
        at_path(
          path,
          f"has TensorFlow's type number {leaf.dtype}, which a table of "
          'variables cannot hold',
        )
      )
    # Other programs may give their specs any names.
    name, _, described = leaf.name.partition('\n')
    if described and not specs:
      node = structure_json.decode(described, leaves) or node
    wire_dtype = dtypes.BY_NUMBER[leaf.dtype]
    _, _, dtype = name.partition('|')
    is_cast = dtype in ('float32', 'float64')
    specs.append(
      LeafSpec(
        path,
        leaf.shape,
        np.dtype(dtype) if is_cast else wire_dtype,
        wire_dtype,
      )
    )
  return Signature(node, tuple(specs))


def _read_node(
  value: structured_value.StructuredValue,
  path: structure.Path,
  leaves: dict[structure.Path, structured_value.TensorSpec],
) -> structure.Node:
  """Returns the containers of a value, and adds its leaves to `leaves`."""
  if value is None:
    return structure.Node('none')
  if isinstance(value, structured_value.TensorSpec):
    leaves[path] = value
    return structure.LEAF
  children = tuple(
    _read_node(child, (*path, key), leaves)
    for key, child in value.children.items()
  )
  class_name = f':{value.class_name}' if value.kind == 'record' else ''
  return structure.Node(value.kind, class_name, tuple(value.children), children)


def difference(old: Signature, new: Signature) -> str | None:
  """Returns how the leaves of two tables differ; None if they do not."""
  if old.leaves == new.leaves:
    return None
  before = {spec.path: spec for spec in old.leaves}
  after = {spec.path: spec for spec in new.leaves}
  changes = []
  for path in before | after:
    if path not in after:
      changes.append(at_path(path, 'is gone'))
    elif path not in before:
      changes.append(at_path(path, f'is new, {after[path]}'))
    elif before[path] != after[path]:
      changes.append(at_path(path, f'was {before[path]}, is {after[path]}'))
  if not changes:
    return 'its leaves have another order'
  more = ' ...' if len(changes) > _MAX_CHANGES else ''
  return '; '.join(changes[:_MAX_CHANGES]) + more


def _shape_and_dtype(
  path: structure.Path, leaf: Any
) -> tuple[tuple[int | None, ...] | None, np.dtype]:
  if type(leaf) in _SCALAR_DTYPES:
    return (), _SCALAR_DTYPES[type(leaf)]
  dtype = dtype_of(path, leaf)
  # TensorFlow's shapes may have an unknown rank.
  if getattr(leaf.shape, 'rank', 0) is None:
    return None, dtype
  return tuple(leaf.shape), dtype


def dtype_of(path: structure.Path, leaf: Any) -> np.dtype:
  """Returns the NumPy dtype of a leaf that is not a Python scalar.

  Args:
    path: The leaf's path, for the error.
    leaf: An array, a tensor, a variable, or a spec of one of them.

  Raises:
    TypeError: the leaf cannot be held in a table.
  """
  dtype = getattr(leaf, 'dtype', None)
  # Only a TensorFlow dtype has `as_datatype_enum`.
  number = getattr(dtype, 'as_datatype_enum', None)
  if number is not None:
    found = dtypes.BY_NUMBER.get(number)
  elif dtype is None:
    found = None
  else:
    _refuse_key(path, dtype)
    found = np.dtype(dtype) if np.dtype(dtype) in dtypes.NUMBERS else None
  if found is None:
    suffix = f' of {dtype}' if dtype is not None else ''
    raise TypeError(
      at_path(
        path,
        f'a {type(leaf).__name__}{suffix} is not a variable; only numbers and '
        'booleans are. Keep it out of the nest, or push its bytes as an array '
        'of uint8.',
      )
    )
  return found


def _refuse_key(path: structure.Path, dtype: Any) -> None:
  jax = sys.modules.get('jax')
  if jax is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
    raise TypeError(
      at_path(
        path,
        'this is a typed PRNG key, which a table cannot hold; push '
        'jax.random.key_data(key) instead.',
      )
    )
