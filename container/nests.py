"""Values checked and cast leaf by leaf against a table: pure functions.

Between the caller's leaves and the wire everything is a C-contiguous NumPy
array.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from container import signatures, structure
from reverb_wire import dtypes, inserts, samples

LEAF_TYPES = ('tensorflow', 'numpy', 'jax')

# What a Python scalar is cast to without loss of meaning.
_CASTS = {bool: 'biufcV', int: 'iufcV', float: 'fcV', complex: 'c'}


def invalid(message: str) -> tf.errors.InvalidArgumentError:
  return tf.errors.InvalidArgumentError(None, None, message)


def to_arrays(
  values: Any, signature: signatures.Signature, finite: bool = False
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


def difference(leaves: Mapping, signature: signatures.Signature) -> str | None:
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


def _to_array(leaf: Any, spec: signatures.LeafSpec, finite: bool) -> np.ndarray:
  if type(leaf) in _CASTS:
    array = _cast_scalar(leaf, spec)
  else:
    signatures.refuse_foreign(spec.path, leaf, getattr(leaf, 'dtype', None))
    array = leaf.numpy() if hasattr(leaf, 'numpy') else leaf
    array = np.asarray(array, order='C')
    if array.dtype != spec.dtype and array.dtype.name == 'bfloat16':
      array = array.view(np.uint16).view(dtypes.BFLOAT16)
  if array.dtype != spec.dtype or not _fits(array.shape, spec):
    got = signatures.describe(array.dtype, array.shape)
    raise invalid(signatures.at_path(spec.path, f'expected {spec}, got {got}'))
  if finite and array.dtype.kind in 'fcV' and not np.isfinite(array).all():
    raise invalid(signatures.at_path(spec.path, 'holds NaN or infinity'))
  array = array.astype(spec.wire_dtype, copy=False)
  if array.nbytes > inserts.MAX_LEAF_BYTES:
    raise ValueError(
      signatures.at_path(
        spec.path,
        f'{array.nbytes:,} bytes; a leaf may have up to '
        f'{inserts.MAX_LEAF_BYTES:,}. Split it into several leaves.',
      )
    )
  return array


def _fits(shape: Sequence[int], spec: signatures.LeafSpec) -> bool:
  if spec.shape is None:
    return True
  return len(shape) == len(spec.shape) and all(
    want in (None, size) for want, size in zip(spec.shape, shape, strict=True)
  )


def _cast_scalar(leaf: Any, spec: signatures.LeafSpec) -> np.ndarray:
  kind = spec.dtype.kind
  # NumPy wraps an int that does not fit, saying so only in a warning.
  fits = kind not in 'iu' or (
    np.iinfo(spec.dtype).min <= leaf <= np.iinfo(spec.dtype).max
  )
  if kind in _CASTS[type(leaf)] and fits:
    return np.asarray(leaf).astype(spec.dtype)
  raise invalid(
    signatures.at_path(
      spec.path, f'expected {spec}, got the Python scalar {leaf!r}'
    )
  )


def check_variables(leaves: Mapping, signature: signatures.Signature) -> None:
  """Checks that a table's values can be assigned to variables.

  Args:
    leaves: The variables by path.
    signature: The table's.

  Raises:
    ValueError: structure, dtype or shape differs.
  """
  problem = difference(leaves, signature)
  if problem:
    raise ValueError(problem)
  for spec in signature.leaves:
    variable = leaves[spec.path]
    fits = variable.shape.is_compatible_with(tf.TensorShape(spec.shape))
    if signatures.DTYPES.get(variable.dtype) != spec.dtype or not fits:
      got = f'{variable.dtype.name}{variable.shape.as_list()}'
      raise ValueError(
        signatures.at_path(spec.path, f'expected {spec}, got {got}')
      )


def from_wire(leaf: samples.Leaf, spec: signatures.LeafSpec) -> np.ndarray:
  """Views a leaf that came over the wire as an array, read-only."""
  size = spec.wire_dtype.itemsize * math.prod(leaf.shape)
  if leaf.dtype != spec.tf_dtype or not _fits(leaf.shape, spec):
    raise ValueError(
      signatures.at_path(
        spec.path,
        f'expected {spec}, got {list(leaf.shape)} of type {leaf.dtype}',
      )
    )
  if size != len(leaf.data):
    raise ValueError(
      signatures.at_path(
        spec.path, f'expected {size:,} bytes, got {len(leaf.data):,}'
      )
    )
  array = np.frombuffer(leaf.data, spec.wire_dtype).reshape(leaf.shape)
  array.flags.writeable = False
  return array


def to_leaves(
  arrays: Sequence[np.ndarray], signature: signatures.Signature, leaf_type: str
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
  if array.dtype == dtypes.BFLOAT16:
    return tf.bitcast(tf.constant(array.view(np.uint16)), tf.bfloat16)
  return tf.constant(array)


def _to_jax(array: np.ndarray) -> Any:
  import jax.numpy as jnp

  return jnp.asarray(array)
