"""Weights in a Reverb table: pushed by one process, pulled by many.

The first half is TF-Agents' `ReverbVariableContainer`, and a table is shared
with its clients. Beside each value travels its version, in the item's
priority, where those clients have 1.
"""

import functools
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from container import nests, structure, table_client, tables, transport


class Snapshot(NamedTuple):
  """Values with the version that they are."""

  version: int
  values: Any


class ReverbVariableContainer:
  """A client of the tables that hold variables; safe for several threads.

  The server is built and held elsewhere, and may restart: the same object
  goes on with whatever server comes to that address, as long as its tables are
  the same; of a table that is not, each call raises ValueError.
  """

  def __init__(
    self,
    server_address: str,
    table_names: Iterable[str] = (tables.DEFAULT_TABLE,),
    *,
    leaf_type: str = 'tensorflow',
    timeout: float = 60.0,
    host_cache: bool = True,
  ):
    """Connects, waiting for the server if need be.

    Args:
      server_address: Host and port.
      table_names: The tables to use.
      leaf_type: What pull's leaves are: 'tensorflow', 'numpy' or 'jax'.
      timeout: Seconds until a call that waits gives up.
      host_cache: Whether to share one copy with other processes of this host.

    Raises:
      ConnectionError: there is no server, or none of Reverb's.
      KeyError: a listed table is not on the server.
      TypeError: a table has no signature, or one that is not of variables.
      ValueError: a table's max_size is not 1, or leaf_type is unknown.
    """
    if leaf_type not in nests.LEAF_TYPES:
      raise ValueError(
        f'leaf_type is one of {nests.LEAF_TYPES}, got {leaf_type!r}.'
      )
    self._address = server_address
    self._leaf_type = leaf_type
    self._timeout = timeout
    self._use_cache = host_cache
    self._connection = transport.Transport(server_address, timeout)
    self._metrics = dict.fromkeys(table_client.METRICS, 0.0)
    names = [table_names] if isinstance(table_names, str) else table_names
    server = self._connection.server_info()
    self._tables = {
      name: table_client.TableClient(
        self._connection, name, server, self._metrics, host_cache
      )
      for name in names
    }

  def __reduce__(self):
    make = functools.partial(
      ReverbVariableContainer,
      leaf_type=self._leaf_type,
      timeout=self._timeout,
      host_cache=self._use_cache,
    )
    return make, (self._address, tuple(self._tables))

  def close(self) -> None:
    """Leaves the host cache and the server."""
    for client in self._tables.values():
      client.close()
    self._connection.close()

  def metrics(self) -> dict[str, float]:
    """Counts, bytes and seconds since the start."""
    return dict(self._metrics)

  def push(
    self,
    values: Any,
    table: str = tables.DEFAULT_TABLE,
    *,
    version: int | None = None,
    finite: bool = False,
  ) -> int:
    """Puts values into a table, in place of those there.

    Args:
      values: A nest like the table's signature.
      table: The table's name.
      version: The values', the last one plus one if None.
      finite: Whether to refuse NaN and infinity.

    Returns:
      The values' version.

    Raises:
      ConnectionError: no server took the values before the deadline.
      KeyError: the table was not named at construction.
      TypeError: a leaf is no number.
      ValueError: the version does not rise, a leaf is too large, or another
        server came whose table differs.
      tf.errors.InvalidArgumentError: the values do not fit the signature.
    """
    client = self._client(table)
    start = time.monotonic()
    with client.lock:
      with client.server.explained():
        arrays = nests.to_arrays(values, client.server.signature, finite)
      version = client.push(arrays, version)
    self._count('pushes', 'push', arrays, start)
    return version

  def pull(self, table: str = tables.DEFAULT_TABLE, *, like: Any = None) -> Any:
    """The values in a table, waiting for the first push.

    Args:
      table: The table's name.
      like: A nest of the types to return, those of the table's maker if None.

    Returns:
      The nest.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: another server came whose table differs.
    """
    return self.snapshot(table, wait=True, like=like).values

  def update(self, variables: Any, table: str = tables.DEFAULT_TABLE) -> None:
    """Assigns the values in a table to variables, all or none.

    Args:
      variables: A nest of `tf.Variable`.
      table: The table's name.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: the variables do not fit the signature, or another server came
        whose table differs.
    """
    client = self._client(table)
    _, leaves = structure.split(variables)
    with client.lock:
      with client.server.explained():
        nests.check_variables(leaves, client.server.signature)
      client.refresh(wait=True)
      arrays, signature = client.arrays, client.server.signature
    values = nests.to_leaves(arrays, signature, 'tensorflow')
    for path, value in values.items():
      leaves[path].assign(value)

  def snapshot(
    self,
    table: str = tables.DEFAULT_TABLE,
    newer_than: int | None = None,
    *,
    wait: bool = False,
    like: Any = None,
  ) -> Snapshot | None:
    """The values in a table with their version, if there is news.

    Args:
      table: The table's name.
      newer_than: A version the caller has.
      wait: Whether to wait for the first push.
      like: A nest of the types to return, those of the table's maker if None.

    Returns:
      None if nothing is newer; that moves no payload.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: `like` does not fit the signature, or another server came
        whose table differs.
    """
    client = self._client(table)
    start = time.monotonic()
    with client.lock:
      client.refresh(wait)
      version, arrays = client.seen.version, client.arrays
      signature = client.server.signature
    if arrays is None or version <= (newer_than or 0):
      return None
    node = signature.node
    if like is not None:
      node, leaves = structure.split(like)
      problem = nests.difference(leaves, signature)
      if problem:
        raise ValueError(problem)
    leaves = nests.to_leaves(arrays, signature, self._leaf_type)
    snapshot = Snapshot(version, structure.rebuild(node, leaves))
    self._count('pulls', 'pull', arrays, start)
    return snapshot

  def version(self, table: str = tables.DEFAULT_TABLE) -> int:
    """The newest version, 0 before the first push.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      ValueError: another server came whose table differs.
    """
    client = self._client(table)
    with client.lock:
      client.refresh(wait=False, with_values=False)
      return client.seen.version

  def is_empty(self, table: str = tables.DEFAULT_TABLE) -> bool:
    """Whether the server holds nothing, as after a restart.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      ValueError: another server came whose table differs.
    """
    client = self._client(table)
    with client.lock:
      return client.server.state().size == 0

  def version_seen(self, table: str = tables.DEFAULT_TABLE) -> int:
    """The newest version this object knows of, without asking anybody."""
    return self._client(table).seen.version

  def pushed_at(self, table: str = tables.DEFAULT_TABLE) -> float:
    """When the values read last were pushed, in seconds since the epoch."""
    return self._client(table).pushed_at

  def _client(self, table: str) -> table_client.TableClient:
    if table not in self._tables:
      raise KeyError(
        f'Table {table!r} was not named at construction; these were: '
        f'{sorted(self._tables)}.'
      )
    return self._tables[table]

  def _count(
    self, what: str, of: str, arrays: list[np.ndarray], start: float
  ) -> None:
    self._metrics[what] += 1
    self._metrics[f'{of}_bytes'] += sum(array.nbytes for array in arrays)
    self._metrics[f'{of}_seconds'] += time.monotonic() - start
