"""Checks leaves against a table's signature and casts them, by pure functions.

Inside the container, each leaf is a C-contiguous NumPy array. TensorFlow and
JAX are imported only if the caller wants their leaves.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from container.nests import signatures, structure
from reverb_wire import dtypes, inserts, samples

LEAF_TYPES = ('tensorflow', 'numpy', 'jax')

# The kinds of NumPy dtypes to which each type of Python scalar may be cast.
_SCALAR_KINDS = {bool: 'biufcV', int: 'iufcV', float: 'fcV', complex: 'c'}
_MAX_PATHS = 5


class MismatchError(ValueError):
  """The values do not fit the table's signature."""


def to_arrays(
  values: Any, signature: signatures.Signature, finite: bool = False
) -> list[np.ndarray]:
  """Checks values against a table's signature, and puts them into its order.

  Args:
    values: The caller's nest.
    signature: The table's signature.
    finite: Whether to refuse NaN and infinity.

  Returns:
    A C-contiguous array for each leaf, in the dtype that is sent. It may share
    memory with the caller's leaf.

  Raises:
    MismatchError: the structure, a dtype or a shape differs, or a value is not
      finite.
    TypeError: a leaf is not a number.
    ValueError: a leaf is too large for one message.
  """
  _, leaves = structure.split(values)
  problem = difference(leaves, signature)
  if problem:
    raise MismatchError(problem)
  _start_copies(leaves.values())
  return [
    _to_array(leaves[spec.path], spec, finite) for spec in signature.leaves
  ]


def difference(
  leaves: Mapping[structure.Path, Any], signature: signatures.Signature
) -> str | None:
  """Returns how a nest's paths differ from a table's; None if they do not."""
  wanted = {spec.path for spec in signature.leaves}
  found = set(leaves)
  if found == wanted:
    return None
  lists = []
  for what, paths in (('missing', wanted - found), ('unknown', found - wanted)):
    names = sorted(map(structure.path_name, paths))
    if names:
      more = ' ...' if len(names) > _MAX_PATHS else ''
      lists.append(f'{what}: {", ".join(names[:_MAX_PATHS])}{more}')
  return f"The nest differs from the table's signature; {'; '.join(lists)}"


def _start_copies(leaves: Iterable[Any]) -> None:
  """Starts to copy all leaves off the accelerator, so that copies overlap."""
  for leaf in leaves:
    if hasattr(leaf, 'copy_to_host_async'):
      leaf.copy_to_host_async()


def _to_array(leaf: Any, spec: signatures.LeafSpec, finite: bool) -> np.ndarray:
  if type(leaf) in _SCALAR_KINDS:
    array = _cast_scalar(leaf, spec)
  elif type(leaf) is np.ndarray and leaf.dtype == spec.dtype:
    array = np.asarray(leaf, order='C')
  else:
    signatures.dtype_of(spec.path, leaf)
    array = leaf.numpy() if hasattr(leaf, 'numpy') else leaf
    array = np.asarray(array, order='C')
    if array.dtype != spec.dtype and array.dtype.name == 'bfloat16':
      # TensorFlow and JAX have different NumPy types called bfloat16.
      array = array.view(np.uint16).view(dtypes.BFLOAT16)
  if array.dtype != spec.dtype or not _fits(array.shape, spec):
    got = signatures.describe(array.dtype, array.shape)
    raise _mismatch(spec, f'expected {spec}, got {got}')
  if finite and array.dtype.kind in 'fcV' and not np.isfinite(array).all():
    raise _mismatch(spec, 'holds NaN or infinity')
  array = array.astype(spec.wire_dtype, copy=False)
  if array.nbytes > inserts.MAX_LEAF_BYTES:
    raise ValueError(
      signatures.at_path(
        spec.path,
        f'it has {array.nbytes:,} bytes, but a leaf may have up to '
        f'{inserts.MAX_LEAF_BYTES:,}. Split it into several leaves.',
      )
    )
  return array


def _mismatch(spec: signatures.LeafSpec, problem: str) -> MismatchError:
  return MismatchError(signatures.at_path(spec.path, problem))


def _fits(shape: Sequence[int], spec: signatures.LeafSpec) -> bool:
  if spec.shape is None or shape == spec.shape:
    return True
  return len(shape) == len(spec.shape) and all(
    want in (None, size) for want, size in zip(spec.shape, shape, strict=True)
  )


def _cast_scalar(scalar: Any, spec: signatures.LeafSpec) -> np.ndarray:
  kind = spec.dtype.kind
  # NumPy wraps an int that does not fit, and says so only in a warning.
  fits = kind not in 'iu' or (
    np.iinfo(spec.dtype).min <= scalar <= np.iinfo(spec.dtype).max
  )
  if kind in _SCALAR_KINDS[type(scalar)] and fits:
    return np.asarray(scalar).astype(spec.dtype)
  raise _mismatch(spec, f'expected {spec}, got the Python scalar {scalar!r}')


def check_variables(
  variables: Mapping[structure.Path, Any], signature: signatures.Signature
) -> None:
  """Checks that a table's values can be assigned to variables.

  Args:
    variables: The `tf.Variable`s by path.
    signature: The table's signature.

  Raises:
    MismatchError: the structure, a dtype or a shape differs.
  """
  problem = difference(variables, signature)
  if problem:
    raise MismatchError(problem)
  for spec in signature.leaves:
    variable = variables[spec.path]
    fits = variable.shape.is_compatible_with(spec.shape)
    dtype = dtypes.BY_NUMBER.get(variable.dtype.as_datatype_enum)
    if dtype != spec.dtype or not fits:
      got = f'{variable.dtype.name}{variable.shape.as_list()}'
      raise _mismatch(spec, f'expected {spec}, got {got}')


def from_wire(leaf: samples.Leaf, spec: signatures.LeafSpec) -> np.ndarray:
  """Views a leaf of a sample as a read-only array.

  Raises:
    ValueError: the dtype, shape or size of the leaf is not the signature's.
  """
  if leaf.dtype != spec.dtype_number or not _fits(leaf.shape, spec):
    got = f"shape {list(leaf.shape)} of TensorFlow's type {leaf.dtype}"
    raise ValueError(
      signatures.at_path(spec.path, f'expected {spec}, got {got}')
    )
  size = spec.wire_dtype.itemsize * math.prod(leaf.shape)
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
  """Turns a table's arrays into leaves of the type that the caller wants.

  Args:
    arrays: An array for each leaf, in the order of the signature.
    signature: The table's signature.
    leaf_type: One of `LEAF_TYPES`.

  Returns:
    The leaves by path.
  """
  convert = {
    'numpy': lambda array: array,
    'tensorflow': _to_tensor,
    'jax': _to_jax,
  }[leaf_type]
  return {
    spec.path: convert(array.astype(spec.dtype, copy=False))
    for spec, array in zip(signature.leaves, arrays, strict=True)
  }


def _to_tensor(array: np.ndarray) -> Any:
  import tensorflow as tf

  if array.dtype == dtypes.BFLOAT16:
    return tf.bitcast(tf.constant(array.view(np.uint16)), tf.bfloat16)
  return tf.constant(array)


def _to_jax(array: np.ndarray) -> Any:
  import jax.numpy as jnp

  return jnp.asarray(array)
