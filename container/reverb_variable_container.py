"""Weights in a Reverb table: one process pushes them, and many pull them.

`push`, `pull` and `update` are those of TF-Agents' `ReverbVariableContainer`,
whose clients can share a table with this one. The item's priority carries the
value's version; a TF-Agents client always sends the priority 1.
"""

import functools
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from container.client import connection as connection_lib
from container.client import metrics as metrics_lib
from container.client import table_client
from container.nests import leaves as leaves_lib
from container.nests import structure

DEFAULT_TABLE = 'variables'
TRAIN_STEP_KEY = 'train_step'
POLICY_KEY = 'policy_variables'


class Snapshot(NamedTuple):
  """Values with their version."""

  version: int
  values: Any


class ReverbVariableContainer:
  """A client of the tables that hold variables; safe for several threads.

  Another process runs the server. If the server restarts at the same address,
  this object goes on with it. If a table then has another signature, each call
  about that table raises ValueError.
  """

  def __init__(
    self,
    server_address: str,
    table_names: Iterable[str] = (DEFAULT_TABLE,),
    *,
    leaf_type: str = 'tensorflow',
    timeout: float = 60.0,
    host_cache: bool = True,
  ):
    """Connects to the server, and waits until it answers.

    Args:
      server_address: The server's host and port.
      table_names: The tables to use.
      leaf_type: The leaves that `pull` returns: 'tensorflow', 'numpy' or 'jax'.
      timeout: Seconds after which a call that waits gives up.
      host_cache: Whether to share one copy of each version with the other
        processes of this host.

    Raises:
      ConnectionError: no Reverb server answers at that address.
      KeyError: a listed table is not on the server.
      TypeError: a table has no signature, or does not hold variables.
      ValueError: a table's max_size is not 1, or leaf_type is unknown.
    """
    if leaf_type not in leaves_lib.LEAF_TYPES:
      raise ValueError(
        f'leaf_type is one of {leaves_lib.LEAF_TYPES}, got {leaf_type!r}.'
      )
    self._address = server_address
    self._leaf_type = leaf_type
    self._timeout = timeout
    self._use_cache = host_cache
    self._connection = connection_lib.Connection(server_address, timeout)
    self._metrics = metrics_lib.ContainerMetrics()
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
    """Leaves the host cache, and closes the connection to the server."""
    for client in self._tables.values():
      client.close()
    self._connection.close()

  def metrics(self) -> dict[str, float]:
    """Returns the values of `ContainerMetrics` by name."""
    return dict(vars(self._metrics))

  def push(
    self,
    values: Any,
    table: str = DEFAULT_TABLE,
    *,
    version: int | None = None,
    finite: bool = False,
  ) -> int:
    """Puts values into a table, where they replace the values before them.

    Args:
      values: A nest that fits the table's signature.
      table: The table's name.
      version: The values' version; None for the last version plus one.
      finite: Whether to refuse NaN and infinity.

    Returns:
      The values' version.

    Raises:
      ConnectionError: no server took the values before the deadline.
      KeyError: the table was not named at construction.
      TypeError: a leaf is not a number.
      ValueError: the version does not rise, a leaf is too large, or a new
        server answers, and its table has another signature.
      tf.errors.InvalidArgumentError: the values do not fit the signature.
    """
    client = self._client(table)
    start = time.monotonic()
    with client.lock:
      try:
        with client.table.explained():
          arrays = leaves_lib.to_arrays(values, client.table.signature, finite)
      except leaves_lib.MismatchError as error:
        raise _invalid_argument(str(error)) from error
      version = client.replace(arrays, version)
    self._metrics.pushes += 1
    self._metrics.push_bytes += _total_bytes(arrays)
    self._metrics.push_seconds += time.monotonic() - start
    return version

  def pull(self, table: str = DEFAULT_TABLE, *, like: Any = None) -> Any:
    """Returns the values in a table; waits if nothing was pushed yet.

    Args:
      table: The table's name.
      like: A nest of the container classes to return; None for the classes of
        the nest that the table was made from.

    Returns:
      The nest.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: a new server answers, and its table has another signature.
    """
    return self.snapshot(table, wait=True, like=like).values

  def update(self, variables: Any, table: str = DEFAULT_TABLE) -> None:
    """Assigns the values in a table to variables: to all of them or to none.

    Args:
      variables: A nest of `tf.Variable`.
      table: The table's name.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: the variables do not fit the signature, or a new server
        answers, and its table has another signature.
    """
    client = self._client(table)
    _, variables_by_path = structure.split(variables)
    with client.lock:
      with client.table.explained():
        leaves_lib.check_variables(variables_by_path, client.table.signature)
      client.refresh(wait=True)
      arrays, signature = client.arrays, client.table.signature
    values = leaves_lib.to_leaves(arrays, signature, 'tensorflow')
    for path, value in values.items():
      variables_by_path[path].assign(value)

  def snapshot(
    self,
    table: str = DEFAULT_TABLE,
    newer_than: int | None = None,
    *,
    wait: bool = False,
    like: Any = None,
  ) -> Snapshot | None:
    """Returns the values in a table with their version, if they are newer.

    Args:
      table: The table's name.
      newer_than: The version that the caller has; None if it has none.
      wait: Whether to wait for the first push.
      like: A nest of the container classes to return; None for the classes of
        the nest that the table was made from.

    Returns:
      The values and their version; None if no version is newer, in which case
      no payload is transferred.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      TimeoutError: nothing was pushed before the deadline.
      ValueError: `like` does not fit the signature, or a new server answers,
        and its table has another signature.
    """
    client = self._client(table)
    start = time.monotonic()
    with client.lock:
      client.refresh(wait)
      version, arrays = client.newest.version, client.arrays
      signature = client.table.signature
    if arrays is None or version <= (newer_than or 0):
      return None
    node = signature.node
    if like is not None:
      node, paths = structure.split(like)
      problem = leaves_lib.difference(paths, signature)
      if problem:
        raise ValueError(problem)
    leaves = leaves_lib.to_leaves(arrays, signature, self._leaf_type)
    snapshot = Snapshot(version, structure.rebuild(node, leaves))
    self._metrics.pulls += 1
    self._metrics.pull_bytes += _total_bytes(arrays)
    self._metrics.pull_seconds += time.monotonic() - start
    return snapshot

  def version(self, table: str = DEFAULT_TABLE) -> int:
    """Asks the server for the newest version; it is 0 before the first push.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      ValueError: a new server answers, and its table has another signature.
    """
    client = self._client(table)
    with client.lock:
      client.refresh(wait=False, with_values=False)
      return client.newest.version

  def is_empty(self, table: str = DEFAULT_TABLE) -> bool:
    """Asks the server whether the table is empty, as after a restart.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
      ValueError: a new server answers, and its table has another signature.
    """
    client = self._client(table)
    with client.lock:
      return client.table.state().info.size == 0

  def version_seen(self, table: str = DEFAULT_TABLE) -> int:
    """Returns the newest version that this object knows; asks no server."""
    return self._client(table).newest.version

  def pushed_at(self, table: str = DEFAULT_TABLE) -> float:
    """Returns when the newest known values were pushed, in Unix seconds."""
    return self._client(table).pushed_at

  def _client(self, table: str) -> table_client.TableClient:
    if table not in self._tables:
      raise KeyError(
        f'Table {table!r} was not named at construction; these were: '
        f'{sorted(self._tables)}.'
      )
    return self._tables[table]


def _total_bytes(arrays: Sequence[np.ndarray]) -> int:
  return sum(array.nbytes for array in arrays)


def _invalid_argument(message: str) -> Exception:
  # A process that pushes no tensors imports TensorFlow only for this error.
  import tensorflow as tf

  return tf.errors.InvalidArgumentError(None, None, message)
