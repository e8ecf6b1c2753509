"""Tables that hold variables: making one, and checking that it is one."""

from collections.abc import Mapping
from typing import Any

import reverb

from container import signatures
from reverb_wire import table_info

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
  address: str,
  name: str,
  tables: Mapping[str, table_info.TableInfo],
  seconds: float,
) -> signatures.Signature:
  """Reads the signature of a table that is fit to hold variables.

  Args:
    address: The server's, for the errors.
    name: The table's.
    tables: All that the server has.
    seconds: That reading its signature may take.

  Returns:
    What the table holds.

  Raises:
    KeyError: the server has no such table.
    TypeError: it has no signature, or one that is not of variables.
    ValueError: its max_size is not 1, or its signature makes no sense.
  """
  info = find(address, name, tables)
  if info.signature is None:
    raise TypeError(
      f'Table {name!r} at {address} has no signature; make it with '
      'variable_table().'
    )
  if info.max_size != 1:
    raise ValueError(
      f'Table {name!r} at {address} has max_size {info.max_size}; a table of '
      'variables holds 1 item.'
    )
  try:
    return signatures.read_signature(info.signature, seconds)
  except (TypeError, ValueError) as error:
    raise type(error)(
      f'Table {name!r} at {address} has a signature that cannot be used: '
      f'{error}.'
    ) from error


def find(
  address: str, name: str, tables: Mapping[str, table_info.TableInfo]
) -> table_info.TableInfo:
  """What a server says of a table.

  Raises:
    KeyError: the server has no such table.
  """
  if name not in tables:
    others = ', '.join(repr(other) for other in sorted(tables)[:10])
    more = ', ...' if len(tables) > 10 else ''
    raise KeyError(
      f'The server at {address} has no table {name!r}; it has {others}{more}.'
    )
  return tables[name]
