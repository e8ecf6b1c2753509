"""Calls about one table, whose signature must stay the same.

A server does not check an item against the signature of its table, and a server
that restarts may have another signature. So the signature is compared again
whenever a new server answers, before anything is read from its table or put
into it.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from container.client import connection as connection_lib
from container.client import metrics as metrics_lib
from container.host_cache import entries
from container.nests import leaves as leaves_lib
from container.nests import signatures
from reverb_wire import inserts, samples, server_info, table_info

T = TypeVar('T')


class TableState(NamedTuple):
  """What a server says about the table; asking for it moves no payload.

  Attributes:
    identity: The server's identity, which it draws when it starts.
    info: The description of the table.
  """

  identity: bytes
  info: table_info.TableInfo


class CheckedTable:
  """Makes calls about one table, to servers whose table has its signature.

  Attributes:
    signature: What the table holds.
  """

  def __init__(
    self,
    connection: connection_lib.Connection,
    name: str,
    server: server_info.ServerInfo,
  ):
    """Checks the table.

    Args:
      connection: The connection to the server.
      name: The table's name.
      server: What the server says about itself and its tables.

    Raises:
      KeyError: the server has no such table.
      TypeError: the table does not hold variables.
      ValueError: the table's max_size is not 1, or its signature is malformed.
    """
    self._connection = connection
    self._name = name
    self._identity = server.identity
    self.signature = self._check(server.tables)

  def state(self) -> TableState:
    """Asks the server about the table.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: a new server answers, and it has no such table.
      TypeError: a new server answers, and its table does not hold variables.
      ValueError: a new server answers, and its table has another signature.
    """
    server = self._connection.server_info()
    info = _find(self._connection.address, self._name, server.tables)
    if server.identity != self._identity:
      address = self._connection.address
      found = self._check(server.tables)
      change = signatures.difference(self.signature, found)
      if change:
        raise ValueError(
          f'A new server answers at {address}, and its table {self._name!r} '
          f'has another signature than before: {change}. Make a new container '
          'to use it.'
        )
      self._identity, self.signature = server.identity, found
    return TableState(server.identity, info)

  def _check(
    self, tables: Mapping[str, table_info.TableInfo]
  ) -> signatures.Signature:
    """Returns the table's signature, if the table can hold variables."""
    address, name = self._connection.address, self._name
    info = _find(address, name, tables)
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
      return signatures.read_signature(info.signature, self._connection.timeout)
    except (TypeError, ValueError) as error:
      raise type(error)(
        f'Table {name!r} at {address} has a signature that cannot be used: '
        f'{error}.'
      ) from error

  def insert(
    self,
    identity: bytes,
    entry: entries.Entry,
    metrics: metrics_lib.ContainerMetrics,
    meanwhile: Callable[[], None],
  ) -> None:
    """Puts an item into the table.

    Args:
      identity: The identity of the server that answered `state`.
      entry: The item.
      metrics: Counts the bytes that are sent.
      meanwhile: Called while the item is being sent.

    Raises:
      ConnectionError: no server took the item before the deadline.
      OtherServerError: a new server has come since that answer.
    """
    item = inserts.Item(self._name, entry.key, entry.priority)
    dtypes = [spec.dtype_number for spec in self.signature.leaves]

    def make_requests() -> Iterator[bytes]:
      for request in inserts.encode_insert(item, entry.arrays, dtypes):
        metrics.wire_bytes_sent += len(request)
        yield request

    self._connection.insert(
      self._name,
      identity,
      make_requests,
      meanwhile,
      inserts.is_one_message(entry.arrays),
    )

  def sample(
    self, identity: bytes, is_wanted: Callable[[samples.Item], bool]
  ) -> samples.SampleReader | None:
    """Reads the table's item as `Connection.sample` does."""
    leaf_count = len(self.signature.leaves)
    return self._connection.sample(self._name, identity, leaf_count, is_wanted)

  def arrays(self, reader: samples.SampleReader) -> list[np.ndarray]:
    """Returns the leaves of a sample, in the signature's order.

    Raises:
      ValueError: the leaves do not fit the signature.
    """
    specs = self.signature.leaves
    try:
      leaves = reader.leaves()
      if len(leaves) != len(specs):
        raise ValueError(f'expected {len(specs)} leaves, got {len(leaves)}')
      return [
        leaves_lib.from_wire(leaf, spec)
        for leaf, spec in zip(leaves, specs, strict=True)
      ]
    except ValueError as error:
      raise ValueError(
        f'Table {self._name!r} at {self._connection.address} holds an item '
        f'that does not fit its signature: {error}.'
      ) from error

  @contextlib.contextmanager
  def explained(self) -> Iterator[None]:
    """Checks, if values do not fit, whether the signature has changed.

    Raises:
      ValueError: the values do not fit the signature, or a new server answers,
        and its table has another signature.
    """
    try:
      yield
    except ValueError:
      with contextlib.suppress(ConnectionError, TimeoutError):
        self.state()
      raise

  def steadily(self, attempt: Callable[[], T]) -> T:
    """Repeats an attempt whenever a new server comes while it runs.

    Raises:
      ConnectionError: new servers kept coming until the deadline.
    """
    deadline = time.monotonic() + self._connection.timeout
    # The first server that a client meets counts as a new one, too. So a second
    # attempt is always made, even after the deadline.
    with contextlib.suppress(connection_lib.OtherServerError):
      return attempt()
    while True:
      try:
        return attempt()
      except connection_lib.OtherServerError as error:
        if time.monotonic() > deadline:
          raise ConnectionError(
            f'New servers kept coming to {self._connection.address}, until '
            f'{self._connection.timeout:g} s had passed.'
          ) from error


def _find(
  address: str, name: str, tables: Mapping[str, table_info.TableInfo]
) -> table_info.TableInfo:
  if name not in tables:
    others = ', '.join(repr(other) for other in sorted(tables)[:10])
    more = ', ...' if len(tables) > 10 else ''
    raise KeyError(
      f'The server at {address} has no table {name!r}; it has {others}{more}.'
    )
  return tables[name]
