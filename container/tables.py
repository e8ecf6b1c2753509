"""Tables that hold variables: making one, and checking that it is one."""

from collections.abc import Mapping
from typing import Any

import reverb
from reverb.cc import schema_pb2
from tensorflow.python.saved_model import nested_structure_coder

from container import signatures

DEFAULT_TABLE = 'variables'
TRAIN_STEP_KEY = 'train_step'
POLICY_KEY = 'policy_variables'


def variable_table(
  specs_or_values: Any,
  name: str = DEFAULT_TABLE,
  *,
  wire_dtype: str | None = None,
) -> reverb.Table:
  """A table that a container accepts.

  Args:
    specs_or_values: A nest of specs, or of example values.
    name: The table's name.
    wire_dtype: 'bfloat16' or 'float16' halves what float32 leaves weigh on
      the wire, and their precision; both ends still have float32.

  Returns:
    The table, for a `reverb.Server`.

  Raises:
    TypeError: a leaf cannot be held in a table.
    ValueError: there is no leaf.
  """
  return reverb.Table(
    name,
    sampler=reverb.selectors.Fifo(),
    remover=reverb.selectors.Fifo(),
    max_size=1,
    rate_limiter=reverb.rate_limiters.MinSize(1),
    signature=signatures.make_signature(specs_or_values, wire_dtype),
  )


def check_table(
  address: str, name: str, tables: Mapping[str, schema_pb2.TableInfo]
) -> signatures.Signature:
  """Reads the signature of a table that is fit to hold variables.

  Args:
    address: The server's, for the errors.
    name: The table's.
    tables: All that the server has.

  Returns:
    What the table holds.

  Raises:
    KeyError: the server has no such table.
    TypeError: it has no signature, or one that is not of variables.
    ValueError: its max_size is not 1.
  """
  if name not in tables:
    raise KeyError(
      f'The server at {address} has no table {name!r}; it has {sorted(tables)}.'
    )
  info = tables[name]
  if not info.HasField('signature'):
    raise TypeError(
      f'Table {name!r} at {address} has no signature; make it with '
      'variable_table().'
    )
  if info.max_size != 1:
    raise ValueError(
      f'Table {name!r} at {address} has max_size {info.max_size}; a table of '
      'variables holds 1 item.'
    )
  return signatures.read_signature(
    nested_structure_coder.decode_proto(info.signature)
  )
