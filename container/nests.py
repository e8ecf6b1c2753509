"""What a table holds, checked and cast leaf by leaf: pure functions.

Between the caller's leaves and the wire everything is a C-contiguous NumPy
array; bfloat16 is ml_dtypes' (as in JAX), which TensorFlow must be handed in
disguise because it registers a NumPy type of its own.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import tensorflow as tf

from container import structure, wire

LEAF_TYPES = ('tensorflow', 'numpy', 'jax')

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# TensorFlow's and Reverb's types of leaves, and as NumPy has them.
_DTYPES = {
  t: _BFLOAT16 if t == tf.bfloat16 else np.dtype(t.as_numpy_dtype)
  for t in (
    *(tf.bool, tf.int8, tf.int16, tf.int32, tf.int64),
    *(tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64),
    *(tf.complex64, tf.complex128),
  )
}
_TF_DTYPES = {dtype: t for t, dtype in _DTYPES.items()}
# What a Python scalar is cast to without loss of meaning.
_CASTS = {bool: 'biufcV', int: 'iufcV', float: 'fcV', complex: 'c'}
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
    shape: None for a dimension of any size.
    dtype: NumPy's, as the caller has it.
    wire_dtype: NumPy's, as the table has it.
  """

  path: structure.Path
  shape: tuple[int | None, ...]
  dtype: np.dtype
  wire_dtype: np.dtype

  @property
  def tf_dtype(self) -> int:
    return _TF_DTYPES[self.wire_dtype].as_datatype_enum

  def __str__(self):
    return _describe(self.dtype, self.shape)


class Signature(NamedTuple):
  """What a table holds: its containers, and its leaves in Reverb's order."""

  node: structure.Node
  leaves: tuple[LeafSpec, ...]


def _describe(dtype: Any, shape: Sequence[int | None]) -> str:
  sizes = ', '.join('?' if size is None else str(size) for size in shape)
  return f'{np.dtype(dtype).name}[{sizes}]'


def _fail(path: structure.Path, problem: str) -> str:
  return f'{structure.path_name(path)}: {problem}'


def invalid(message: str) -> tf.errors.InvalidArgumentError:
  return tf.errors.InvalidArgumentError(None, None, message)


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
    name=f'{specs[first].name}\n{structure.to_json(node)}',
  )
  return structure.plain(node, specs)


def read_signature(signature: Any) -> Signature:
  """Understands any table's signature, one of `make_signature` or not."""
  node, leaves = structure.split(signature)
  specs = []
  for path, leaf in leaves.items():
    if leaf.dtype not in _DTYPES:
      raise TypeError(_fail(path, f'a table of {leaf.dtype} is not variables'))
    name, _, described = (leaf.name or '').partition('\n')
    if described:
      node = structure.from_json(described)
    wire_dtype = _DTYPES[leaf.dtype]
    # Other programs may name their specs as they like.
    _, _, dtype = name.partition('|')
    is_cast = dtype in ('float32', 'float64')
    specs.append(
      LeafSpec(
        path,
        tuple(leaf.shape) if leaf.shape.rank is not None else (),
        np.dtype(dtype) if is_cast else wire_dtype,
        wire_dtype,
      )
    )
  return Signature(node, tuple(specs))


def _shape_and_dtype(path: structure.Path, leaf: Any) -> tuple[Any, np.dtype]:
  if type(leaf) in _EXAMPLES:
    return (), np.dtype(_EXAMPLES[type(leaf)])
  dtype = getattr(leaf, 'dtype', None)
  _refuse_foreign(path, leaf, dtype)
  if not isinstance(dtype, tf.DType):
    return tuple(leaf.shape), np.dtype(dtype)
  return leaf.shape, _DTYPES[dtype]


def _refuse_foreign(path: structure.Path, leaf: Any, dtype: Any) -> None:
  if isinstance(dtype, tf.DType):
    known = dtype in _DTYPES
  elif dtype is None:
    known = False
  else:
    jax = sys.modules.get('jax')
    if jax is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
      raise TypeError(
        _fail(path, 'a typed PRNG key; push jax.random.key_data(key) instead.')
      )
    known = np.dtype(dtype) in _TF_DTYPES
  if not known:
    what = f'{type(leaf).__name__}' + (
      f' of {dtype}' if dtype is not None else ''
    )
    raise TypeError(
      _fail(
        path,
        f'a {what} is not a variable; only numbers and booleans are. Keep it '
        'out of the nest, or push its bytes as an array of uint8.',
      )
    )


def to_arrays(
  values: Any, signature: Signature, finite: bool = False
) -> list[np.ndarray]:
  """Checks values against a table and brings them into its order.

  Args:
    values: The caller's nest.
    signature: The table's.
    finite: Whether to refuse NaN and infinity.

  Returns:
    C-contiguous arrays, one a leaf, which may share the caller's memory.

  Raises:
    tf.errors.InvalidArgumentError: structure, dtype or shape differs, or a
      value is not finite.
    TypeError: a leaf is no number.
    ValueError: a leaf is too large for one message.
  """
  _, leaves = structure.split(values)
  problem = difference(leaves, signature)
  if problem:
    raise invalid(problem)
  _start_copies(leaves.values())
  return [
    _to_array(leaves[spec.path], spec, finite) for spec in signature.leaves
  ]


def difference(leaves: Mapping, signature: Signature) -> str | None:
  """How a nest's paths differ from a table's, None if they do not."""
  wanted = {spec.path for spec in signature.leaves}
  found = set(leaves)
  if found == wanted:
    return None
  lists = []
  for what, paths in (('missing', wanted - found), ('unknown', found - wanted)):
    names = sorted(map(structure.path_name, paths))
    if names:
      more = ' ...' if len(names) > 5 else ''
      lists.append(f'{what}: {", ".join(names[:5])}{more}')
  return f"The nest differs from the table's signature; {'; '.join(lists)}"


def _start_copies(leaves: Any) -> None:
  """Starts every copy from an accelerator before the first is waited for."""
  for leaf in leaves:
    if hasattr(leaf, 'copy_to_host_async'):
      leaf.copy_to_host_async()


def _to_array(leaf: Any, spec: LeafSpec, finite: bool) -> np.ndarray:
  if type(leaf) in _CASTS:
    array = _cast_scalar(leaf, spec)
  else:
    _refuse_foreign(spec.path, leaf, getattr(leaf, 'dtype', None))
    array = leaf.numpy() if hasattr(leaf, 'numpy') else leaf
    array = np.asarray(array, order='C')
    if array.dtype != spec.dtype and array.dtype.name == 'bfloat16':
      array = array.view(np.uint16).view(_BFLOAT16)
  fits = len(array.shape) == len(spec.shape) and all(
    want in (None, size)
    for want, size in zip(spec.shape, array.shape, strict=True)
  )
  if array.dtype != spec.dtype or not fits:
    got = _describe(array.dtype, array.shape)
    raise invalid(_fail(spec.path, f'expected {spec}, got {got}'))
  if finite and array.dtype.kind in 'fcV' and not np.isfinite(array).all():
    raise invalid(_fail(spec.path, 'holds NaN or infinity'))
  array = array.astype(spec.wire_dtype, copy=False)
  if array.nbytes > wire.MAX_LEAF_BYTES:
    raise ValueError(
      _fail(
        spec.path,
        f'{array.nbytes:,} bytes; a leaf may have up to '
        f'{wire.MAX_LEAF_BYTES:,}. Split it into several leaves.',
      )
    )
  return array


def _cast_scalar(leaf: Any, spec: LeafSpec) -> np.ndarray:
  kind = spec.dtype.kind
  # NumPy wraps an int that does not fit, saying so only in a warning.
  fits = kind not in 'iu' or (
    np.iinfo(spec.dtype).min <= leaf <= np.iinfo(spec.dtype).max
  )
  if kind in _CASTS[type(leaf)] and fits:
    return np.asarray(leaf).astype(spec.dtype)
  raise invalid(
    _fail(spec.path, f'expected {spec}, got the Python scalar {leaf!r}')
  )


def check_variables(leaves: Mapping, signature: Signature) -> None:
  """Checks that a table's values can be assigned to variables.

  Args:
    leaves: The variables by path.
    signature: The table's.

  Raises:
    ValueError: a dtype or a shape differs.
  """
  for spec in signature.leaves:
    variable = leaves[spec.path]
    fits = variable.shape.is_compatible_with(tf.TensorShape(spec.shape))
    if _DTYPES.get(variable.dtype) != spec.dtype or not fits:
      got = f'{variable.dtype.name}{variable.shape.as_list()}'
      raise ValueError(_fail(spec.path, f'expected {spec}, got {got}'))


def from_wire(leaf: wire.WireLeaf, spec: LeafSpec) -> np.ndarray:
  """Views a leaf that came over the wire as an array, read-only."""
  array = np.frombuffer(leaf.data, spec.wire_dtype)
  if leaf.dtype != spec.tf_dtype:
    raise invalid(_fail(spec.path, f'expected {spec}, got type {leaf.dtype}'))
  array = array.reshape(leaf.shape)
  array.flags.writeable = False
  return array


def to_leaves(
  arrays: Sequence[np.ndarray], signature: Signature, leaf_type: str
) -> dict[structure.Path, Any]:
  """Turns a table's arrays into leaves of the type the caller wants."""
  convert = {
    'numpy': lambda array: array,
    'tensorflow': _to_tensor,
    'jax': _to_jax,
  }[leaf_type]
  return {
    spec.path: convert(array.astype(spec.dtype, copy=False))
    for spec, array in zip(signature.leaves, arrays, strict=True)
  }


def _to_tensor(array: np.ndarray) -> tf.Tensor:
  if array.dtype == _BFLOAT16:
    return tf.bitcast(tf.constant(array.view(np.uint16)), tf.bfloat16)
  return tf.constant(array)


def _to_jax(array: np.ndarray) -> Any:
  import jax.numpy as jnp

  return jnp.asarray(array)
