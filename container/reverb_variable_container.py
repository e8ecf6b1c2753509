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
  goes on with whatever server comes to that address.
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
      ConnectionError: there is no server.
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
    _, infos = self._connection.tables()
    self._tables = {
      name: table_client.TableClient(
        self._connection,
        name,
        tables.check_table(server_address, name, infos),
        self._metrics,
        host_cache,
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
      ValueError: the version does not rise, or a leaf is too large.
      tf.errors.InvalidArgumentError: the values do not fit the signature.
    """
    client = self._client(table)
    start = time.monotonic()
    with client.lock:
      arrays = nests.to_arrays(values, client.signature, finite)
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
      ValueError: the variables do not fit the signature.
    """
    client = self._client(table)
    _, leaves = structure.split(variables)
    problem = nests.difference(leaves, client.signature)
    if problem:
      raise ValueError(problem)
    nests.check_variables(leaves, client.signature)
    with client.lock:
      client.refresh(wait=True)
      arrays = client.arrays
    values = nests.to_leaves(arrays, client.signature, 'tensorflow')
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
    """
    client = self._client(table)
    start = time.monotonic()
    with client.lock:
      client.refresh(wait)
      version, arrays = client.seen.version, client.arrays
    if arrays is None or version <= (newer_than or 0):
      return None
    node = client.signature.node
    if like is not None:
      node, leaves = structure.split(like)
      problem = nests.difference(leaves, client.signature)
      if problem:
        raise ValueError(problem)
    leaves = nests.to_leaves(arrays, client.signature, self._leaf_type)
    snapshot = Snapshot(version, structure.rebuild(node, leaves))
    self._count('pulls', 'pull', arrays, start)
    return snapshot

  def version(self, table: str = tables.DEFAULT_TABLE) -> int:
    """The newest version, 0 before the first push.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
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
    """
    self._client(table)
    return self._connection.state(table).size == 0

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
