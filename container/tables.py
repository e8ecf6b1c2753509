"""Makes tables that hold variables, for a `reverb.Server`."""

from typing import Any

import reverb
import tensorflow as tf

from container import reverb_variable_container as container_lib
from container.nests import signatures, structure


def variable_table(
  specs_or_values: Any,
  name: str = container_lib.DEFAULT_TABLE,
  *,
  wire_dtype: str | None = None,
) -> reverb.Table:
  """Makes a table that a container accepts.

  Args:
    specs_or_values: A nest of specs, or of example values.
    name: The table's name.
    wire_dtype: The dtype in which float32 and float64 leaves are stored and
      sent; None for their own dtypes. 'bfloat16' and 'float16' halve the size
      of float32 leaves and lower their precision. Pushers and readers still
      have the leaves' own dtypes.

  Returns:
    The table, for a `reverb.Server`.

  Raises:
    TypeError: a leaf cannot be held in a table.
    ValueError: the nest has no leaf.
  """
  signature = signatures.signature_of(specs_or_values, wire_dtype)
  names = signatures.spec_names(signature)
  specs = {
    spec.path: tf.TensorSpec(
      spec.shape, tf.as_dtype(spec.dtype_number), name=names[spec.path]
    )
    for spec in signature.leaves
  }
  return reverb.Table(
    name,
    sampler=reverb.selectors.Fifo(),
    remover=reverb.selectors.Fifo(),
    max_size=1,
    rate_limiter=reverb.rate_limiters.MinSize(1),
    signature=structure.plain(signature.node, specs),
  )
