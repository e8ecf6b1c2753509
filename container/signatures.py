"""What a table holds: read from a nest, or from a server's signature.

bfloat16 is ml_dtypes' (as in JAX); TensorFlow registers a NumPy type of its
own, and is handed the other in disguise.
"""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import tensorflow as tf

from container import structure, structure_json
from reverb_wire import structured_value
from reverb_wire.dtypes import BFLOAT16

# TensorFlow's and Reverb's types of leaves, and as NumPy has them.
DTYPES = {
  t: BFLOAT16 if t == tf.bfloat16 else np.dtype(t.as_numpy_dtype)
  for t in (
    *(tf.bool, tf.int8, tf.int16, tf.int32, tf.int64),
    *(tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64),
    *(tf.complex64, tf.complex128),
  )
}
_TF_DTYPES = {dtype: t for t, dtype in DTYPES.items()}
_BY_ENUM = {t.as_datatype_enum: dtype for t, dtype in DTYPES.items()}
_EXAMPLES = {
  bool: np.bool_,
  int: np.int32,
  float: np.float32,
  complex: np.complex64,
}


class LeafSpec(NamedTuple):
  """One leaf of a table.

  Attributes:
    path: Its place in the nest.
    shape: None for any, or with None for a dimension of any size.
    dtype: NumPy's, as the caller has it.
    wire_dtype: NumPy's, as the table has it.
  """

  path: structure.Path
  shape: tuple[int | None, ...] | None
  dtype: np.dtype
  wire_dtype: np.dtype

  @property
  def tf_dtype(self) -> int:
    return _TF_DTYPES[self.wire_dtype].as_datatype_enum

  def __str__(self):
    return describe(self.dtype, self.shape)


class Signature(NamedTuple):
  """What a table holds: its containers, and its leaves in Reverb's order."""

  node: structure.Node
  leaves: tuple[LeafSpec, ...]


def describe(dtype: Any, shape: Sequence[int | None] | None) -> str:
  if shape is None:
    return f'{np.dtype(dtype).name}[...]'
  sizes = ', '.join('?' if size is None else str(size) for size in shape)
  return f'{np.dtype(dtype).name}[{sizes}]'


def at_path(path: structure.Path, problem: str) -> str:
  return f'{structure.path_name(path)}: {problem}'


def make_signature(specs_or_values: Any, wire_dtype: str | None = None) -> Any:
  """A signature for `reverb.Table`, from a nest of specs or of values.

  Leaves are named after their place, and the first leaf's name carries the
  caller's containers, so that a reader elsewhere gets them back.

  Args:
    specs_or_values: A nest whose leaves have a shape and a dtype.
    wire_dtype: What floating-point leaves travel as, None as they are.

  Returns:
    The nest of `tf.TensorSpec`.

  Raises:
    TypeError: a leaf cannot be held in a table.
    ValueError: there is no leaf.
  """
  node, leaves = structure.split(specs_or_values)
  if not leaves:
    raise ValueError('A variable table needs at least one leaf; got none.')
  specs = {}
  for path, leaf in leaves.items():
    shape, dtype = _shape_and_dtype(path, leaf)
    name = structure.path_name(path)
    on_wire = dtype
    if wire_dtype is not None and dtype.kind == 'f' and dtype.itemsize > 2:
      on_wire = np.dtype(getattr(ml_dtypes, wire_dtype, wire_dtype))
      name += '|' + dtype.name
    specs[path] = tf.TensorSpec(shape, _TF_DTYPES[on_wire], name=name)
  first = next(iter(specs))
  specs[first] = tf.TensorSpec(
    specs[first].shape,
    specs[first].dtype,
    name=f'{specs[first].name}\n{structure_json.encode(node)}',
  )
  return structure.plain(node, specs)


def read_signature(signature: memoryview, seconds: float) -> Signature:
  """Understands any table's signature, one of `make_signature` or not.

  Args:
    signature: As a server sends it.
    seconds: That it may take.

  Raises:
    MalformedError: it is no signature, or it took too long.
    TypeError: it is one of other things than variables.
  """
  found = {}
  node = _read_node(structured_value.read(signature, seconds), (), found)
  leaves = {path: found[path] for path in structure.ordered_paths(node)}
  specs = []
  for path, leaf in leaves.items():
    if leaf.dtype not in _BY_ENUM:
      raise TypeError(
        at_path(path, f'a table of type {leaf.dtype} is not variables')
      )
    # Other programs may name their specs as they like.
    name, _, described = leaf.name.partition('\n')
    if described and not specs:
      node = structure_json.decode(described, leaves) or node
    wire_dtype = _BY_ENUM[leaf.dtype]
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
  """Notes a value's leaves by path, and returns its containers."""
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
  """How the leaves of two tables differ, None if they do not."""
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
  return '; '.join(changes[:5]) + (' ...' if len(changes) > 5 else '')


def _shape_and_dtype(path: structure.Path, leaf: Any) -> tuple[Any, np.dtype]:
  if type(leaf) in _EXAMPLES:
    return (), np.dtype(_EXAMPLES[type(leaf)])
  dtype = getattr(leaf, 'dtype', None)
  refuse_foreign(path, leaf, dtype)
  if not isinstance(dtype, tf.DType):
    return tuple(leaf.shape), np.dtype(dtype)
  return leaf.shape, DTYPES[dtype]


def refuse_foreign(path: structure.Path, leaf: Any, dtype: Any) -> None:
  if isinstance(dtype, tf.DType):
    known = dtype in DTYPES
  elif dtype is None:
    known = False
  else:
    jax = sys.modules.get('jax')
    if jax is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
      raise TypeError(
        at_path(
          path, 'a typed PRNG key; push jax.random.key_data(key) instead.'
        )
      )
    known = np.dtype(dtype) in _TF_DTYPES
  if not known:
    what = f'{type(leaf).__name__}' + (
      f' of {dtype}' if dtype is not None else ''
    )
    raise TypeError(
      at_path(
        path,
        f'a {what} is not a variable; only numbers and booleans are. Keep it '
        'out of the nest, or push its bytes as an array of uint8.',
      )
    )
