"""One table of whatever server is at an address, as long as it is the same.

No server compares what it is given with the signature of its table, and one
that restarts may have another. So the signature belongs to one incarnation of
the server, and is compared again before anything is read from or put into the
next one.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np
import tensorflow as tf

from container import (
  cache_file,
  nests,
  signatures,
  tables,
  transport,
)
from reverb_wire import inserts, samples, server_info, table_info

T = TypeVar('T')


class CheckedTable:
  """Calls about one table, each to a server whose table has the signature.

  Attributes:
    signature: What the table holds.
  """

  def __init__(
    self,
    connection: transport.Transport,
    name: str,
    server: server_info.ServerInfo,
  ):
    """Checks the table.

    Args:
      connection: To the server.
      name: The table's.
      server: What it says of itself.

    Raises:
      KeyError: the server has no such table.
      TypeError: the table is not of variables.
      ValueError: its max_size is not 1, or its signature makes no sense.
    """
    self._connection = connection
    self._name = name
    self._identity = server.identity
    self.signature = self._check(server.tables)

  def state(self) -> transport.ServerState:
    """What the server says of the table.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: a server came that has no such table.
      TypeError: a server came whose table is not of variables.
      ValueError: a server came whose table is another.
    """
    state = self._connection.state(self._name)
    if state.identity != self._identity:
      address = self._connection.address
      found = self._check({self._name: state.info})
      change = signatures.difference(self.signature, found)
      if change:
        raise ValueError(
          f'Another server came to {address}, and its table {self._name!r} is '
          f'another than before: {change}. Make a new container to use it.'
        )
      self._identity, self.signature = state.identity, found
    return state

  def _check(
    self, infos: Mapping[str, table_info.TableInfo]
  ) -> signatures.Signature:
    address, seconds = self._connection.address, self._connection.timeout
    return tables.check_table(address, self._name, infos, seconds)

  def insert(
    self,
    identity: bytes,
    entry: cache_file.Entry,
    metrics: dict[str, float],
    meanwhile: Callable[[], None],
  ) -> None:
    """Puts an item into the table.

    Args:
      identity: Of the server whose state was asked for.
      entry: The item.
      metrics: Where to count what is sent.
      meanwhile: Called while the item is on its way.

    Raises:
      ConnectionError: no server took it before the deadline.
      OtherServerError: another server has come since.
    """
    dtypes = [spec.tf_dtype for spec in self.signature.leaves]

    def requests() -> Iterator[bytes]:
      for request in inserts.encode_insert(
        inserts.Item(self._name, entry.key, entry.priority),
        entry.arrays,
        dtypes,
      ):
        metrics['wire_bytes_sent'] += len(request)
        yield request

    self._connection.insert(self._name, identity, requests, meanwhile)

  def sample(
    self, identity: bytes, is_news: Callable[[samples.Item], bool]
  ) -> samples.SampleReader | None:
    """As `Transport.sample`."""
    leaves = len(self.signature.leaves)
    return self._connection.sample(self._name, identity, leaves, is_news)

  def arrays(self, reader: samples.SampleReader) -> list[np.ndarray]:
    """The leaves of a sample, in the signature's order.

    Raises:
      ValueError: they are not what the signature says.
    """
    specs = self.signature.leaves
    try:
      leaves = reader.leaves()
      if len(leaves) != len(specs):
        raise ValueError(f'expected {len(specs)} leaves, got {len(leaves)}')
      return [
        nests.from_wire(leaf, spec)
        for leaf, spec in zip(leaves, specs, strict=True)
      ]
    except ValueError as error:
      raise ValueError(
        f'Table {self._name!r} at {self._connection.address} holds something '
        f'else than its signature says: {error}.'
      ) from error

  @contextlib.contextmanager
  def explained(self) -> Iterator[None]:
    """If values do not fit the signature, tells whether it is of the past."""
    try:
      yield
    except (ValueError, tf.errors.InvalidArgumentError):
      with contextlib.suppress(ConnectionError, TimeoutError):
        self.state()
      raise

  def steadily(self, attempt: Callable[[], T]) -> T:
    """Begins an attempt anew whenever another server comes in the middle.

    Raises:
      ConnectionError: that went on until the deadline.
    """
    deadline = time.monotonic() + self._connection.timeout
    # The first server that is met is another one, too, however late it comes.
    with contextlib.suppress(transport.OtherServerError):
      return attempt()
    while True:
      try:
        return attempt()
      except transport.OtherServerError as error:
        if time.monotonic() > deadline:
          raise ConnectionError(
            f'Again and again another server came to '
            f'{self._connection.address}, within '
            f'{self._connection.timeout:g} s.'
          ) from error
