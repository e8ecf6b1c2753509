"""Weights in a Reverb table: pushed by one process, pulled by many.

The first half is TF-Agents' `ReverbVariableContainer`, and a table is shared
with its clients. Beside each value travels its version, in the item's
priority: a version v as v + 0.5, so that a plain client's 1.0 is no version.
"""

from collections.abc import Iterable
import functools
import secrets
import threading
import time
from typing import Any, NamedTuple

from absl import logging
import numpy as np
import reverb
from tensorflow.python.saved_model import nested_structure_coder

from container import host_cache as host_cache_lib
from container import nests
from container import structure
from container import transport
from container import wire

DEFAULT_TABLE = 'variables'
TRAIN_STEP_KEY = 'train_step'
POLICY_KEY = 'policy_variables'

# A pusher on this host leaves each version in the cache; how often to ask the
# server nevertheless, because somebody elsewhere may have pushed, too.
_CHECK_SECONDS = 1.0

_METRICS = (
  *('pushes', 'push_bytes', 'push_seconds', 'wire_bytes_sent'),
  *('pulls', 'pull_bytes', 'pull_seconds', 'wire_bytes_received'),
  *('checks', 'cache_hits', 'cache_fallbacks', 'versions_skipped'),
)


class Snapshot(NamedTuple):
  """Values with the version that they are."""

  version: int
  values: Any


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
    signature=nests.make_signature(specs_or_values, wire_dtype),
  )


class _Seen:
  """What this process knows of one table; its lock orders all that use it.

  Attributes:
    signature: What the table holds.
    identity: The server incarnation of what follows.
    key: The item seen last.
    index: The server's count of inserts when that item was in.
    version: Of that item, as told to the caller.
    raw: Of that item, as its pusher wrote it; None from a plain client.
    offset: `version` - `raw`: positive once a pusher began to count anew.
    arrays: The item's values, if they were read.
    pushed_at: Seconds since the epoch.
    seen_at: When it was seen, as `time.time`.
  """

  def __init__(self, signature: nests.Signature):
    self.lock = threading.RLock()
    self.signature = signature
    self.identity = b''
    self.key: int | None = None
    self.index = 0
    self.version = 0
    self.offset = 0
    self.arrays: list[np.ndarray] | None = None
    self.pushed_at = 0.0
    self.is_local = False
    self.checked_at = -_CHECK_SECONDS
    self.cache: host_cache_lib.HostCache | None = None

  def take(self, identity: bytes, index: int, item: Any, arrays: Any) -> int:
    """Notes a newer item; returns how many versions were skipped."""
    before = self.version
    raw = _decode_version(item.priority)
    if raw is None:
      # A plain client counts nothing; the server counts its inserts.
      grown = index - self.index if identity == self.identity else 0
      self.version = max(before + max(1, grown), index if not before else 0)
    else:
      # A pusher that began anew must not take its readers back.
      self.offset = max(self.offset, before + 1 - raw) if before else 0
      self.version = raw + self.offset
    self.identity, self.key, self.index = identity, item.key, index
    self.arrays = arrays
    return max(0, self.version - before - 1) if before else 0


def _encode_version(version: int) -> float:
  return version + 0.5


def _decode_version(priority: float) -> int | None:
  version = int(priority)
  return version if priority == version + 0.5 and version > 0 else None


class ReverbVariableContainer:
  """A client of the tables that hold variables; safe for several threads.

  The server is built and held elsewhere, and may restart: the same object
  goes on with whatever server comes to that address.
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
    self._transport = transport.Transport(server_address, timeout)
    self._metrics = dict.fromkeys(_METRICS, 0.0)
    names = [table_names] if isinstance(table_names, str) else table_names
    _, tables = self._transport.tables()
    self._tables = {
      name: _Seen(_check_table(server_address, name, tables)) for name in names
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
    for seen in self._tables.values():
      if seen.cache is not None:
        seen.cache.close()
    self._transport.close()

  def metrics(self) -> dict[str, float]:
    """Counts, bytes and seconds since the start."""
    return dict(self._metrics)

  def push(
    self,
    values: Any,
    table: str = DEFAULT_TABLE,
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
    seen = self._seen(table)
    start = time.monotonic()
    with seen.lock:
      arrays = nests.to_arrays(values, seen.signature, finite)
      state = self._look(table, seen)
      if version is None:
        version = seen.version + 1
      elif version <= seen.version:
        raise ValueError(
          f'Version {version} does not rise: table {table!r} at '
          f'{self._address} is at {seen.version}.'
        )
      self._push(table, seen, state, version, arrays)
    self._count('push', arrays, start)
    return version

  def pull(self, table: str = DEFAULT_TABLE, *, like: Any = None) -> Any:
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

  def update(self, variables: Any, table: str = DEFAULT_TABLE) -> None:
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
    seen = self._seen(table)
    _, leaves = structure.split(variables)
    problem = nests.difference(leaves, seen.signature)
    if problem:
      raise ValueError(problem)
    nests.check_variables(leaves, seen.signature)
    with seen.lock:
      self._refresh(table, seen, wait=True)
      values = nests.to_leaves(seen.arrays, seen.signature, 'tensorflow')
    for path, value in values.items():
      leaves[path].assign(value)

  def snapshot(
    self,
    table: str = DEFAULT_TABLE,
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
    seen = self._seen(table)
    start = time.monotonic()
    with seen.lock:
      self._refresh(table, seen, wait)
      if seen.arrays is None or seen.version <= (newer_than or 0):
        return None
      leaves = nests.to_leaves(seen.arrays, seen.signature, self._leaf_type)
      node = seen.signature.node
      if like is not None:
        node, like_leaves = structure.split(like)
        problem = nests.difference(like_leaves, seen.signature)
        if problem:
          raise ValueError(problem)
      snapshot = Snapshot(seen.version, structure.rebuild(node, leaves))
      self._count('pull', seen.arrays, start)
      return snapshot

  def version(self, table: str = DEFAULT_TABLE) -> int:
    """The newest version, 0 before the first push.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
    """
    seen = self._seen(table)
    with seen.lock:
      self._refresh(table, seen, wait=False)
      return seen.version

  def is_empty(self, table: str = DEFAULT_TABLE) -> bool:
    """Whether the server holds nothing, as after a restart.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the table was not named at construction.
    """
    self._seen(table)
    return self._transport.state(table).size == 0

  def version_seen(self, table: str = DEFAULT_TABLE) -> int:
    """The newest version this object knows of, without asking anybody."""
    return self._seen(table).version

  def pushed_at(self, table: str = DEFAULT_TABLE) -> float:
    """When the values read last were pushed, in seconds since the epoch."""
    return self._seen(table).pushed_at

  def _seen(self, table: str) -> _Seen:
    if table not in self._tables:
      raise KeyError(
        f'Table {table!r} was not named at construction; these were: '
        f'{sorted(self._tables)}.'
      )
    return self._tables[table]

  def _count(self, what: str, arrays: list[np.ndarray], start: float) -> None:
    self._metrics[f'{what}es' if what == 'push' else f'{what}s'] += 1
    self._metrics[f'{what}_bytes'] += sum(array.nbytes for array in arrays)
    self._metrics[f'{what}_seconds'] += time.monotonic() - start

  def _push(
    self,
    table: str,
    seen: _Seen,
    state: transport.ServerState,
    version: int,
    arrays: list[np.ndarray],
  ) -> None:
    key = secrets.randbits(63)
    priority = _encode_version(version)
    entry = host_cache_lib.Entry(
      key, priority, state.inserts + 1, time.time(), True, arrays
    )
    self._to_cache(table, seen, state.identity, entry)
    chunk_keys = [secrets.randbits(63) for _ in arrays]
    episode = secrets.randbits(63)

    def requests():
      for chunk_key, array, spec in zip(
        chunk_keys, arrays, seen.signature.leaves, strict=True
      ):
        request = wire.encode_leaf(array, spec.tf_dtype, chunk_key, episode)
        self._metrics['wire_bytes_sent'] += len(request)
        yield request

    try:
      self._transport.insert(table, key, priority, requests, chunk_keys)
    finally:
      # Readers of this host may have it already: its version is spent.
      seen.version, seen.offset = version, 0
      seen.identity, seen.key = state.identity, key
      seen.index, seen.pushed_at = state.inserts + 1, entry.pushed_at
      # The caller may write over its arrays; a read gets its own.
      seen.arrays = None

  def _look(self, table: str, seen: _Seen) -> transport.ServerState:
    """Learns the newest version without reading its values."""
    state = self._transport.state(table)
    is_known = (state.identity, state.inserts) == (seen.identity, seen.index)
    if state.size and not is_known:
      self._sample(table, seen, state, with_values=False)
    return state

  def _sample(
    self,
    table: str,
    seen: _Seen,
    state: transport.ServerState,
    with_values: bool,
  ) -> wire.SampleReader | None:
    """Asks the server for its item; returns it if it is newer."""
    headers = []

    def is_news(item: wire.Item) -> bool:
      headers.append(item)
      has_it = item.key == seen.key and (seen.arrays is not None)
      return with_values and not has_it

    reader = self._transport.sample(table, is_news)
    if headers[-1].key == seen.key:
      seen.identity, seen.index = state.identity, state.inserts
    elif not with_values:
      seen.take(state.identity, state.inserts, headers[-1], None)
    return reader

  def _refresh(self, table: str, seen: _Seen, wait: bool) -> None:
    """Brings what this process holds up to date."""
    if self._hit_cache(seen):
      return
    now = time.monotonic()
    is_trusted = seen.is_local and seen.arrays is not None
    if is_trusted and now - seen.checked_at < _CHECK_SECONDS:
      return
    self._metrics['checks'] += 1
    state = self._transport.state(table)
    seen.checked_at = now
    self._join_cache(table, seen, state.identity)
    if not state.size and not wait:
      return
    is_known = state.identity == seen.identity and state.inserts <= seen.index
    if is_known and seen.arrays is not None:
      return
    if self._hit_cache(seen) and state.inserts <= seen.index:
      return
    if seen.cache is None:
      self._pull(table, seen, state)
      return
    with seen.cache.pulling(self._timeout) as is_alone:
      if not is_alone:
        raise TimeoutError(
          f'Another process of this host has been pulling table {table!r} from '
          f'{self._address} for {self._timeout:g} s.'
        )
      # Another reader of this host has pulled it meanwhile, most likely.
      if not self._hit_cache(seen) or state.inserts > seen.index:
        self._pull(table, seen, state)

  def _pull(
    self, table: str, seen: _Seen, state: transport.ServerState
  ) -> None:
    reader = self._sample(table, seen, state, with_values=True)
    if reader is None:
      return
    leaves = reader.leaves()
    arrays = [
      nests.from_wire(leaf, spec)
      for leaf, spec in zip(leaves, seen.signature.leaves, strict=True)
    ]
    received = sum(len(leaf.data) for leaf in leaves)
    self._metrics['wire_bytes_received'] += received
    item = reader.item
    index = max(1, state.inserts)
    entry = host_cache_lib.Entry(
      item.key, item.priority, index, item.inserted_at, False, arrays
    )
    self._to_cache(table, seen, state.identity, entry)
    if not self._read_cache(seen):
      self._take(seen, state.identity, entry)

  def _take(
    self, seen: _Seen, identity: bytes, entry: host_cache_lib.Entry
  ) -> None:
    if entry.key == seen.key:
      seen.arrays = entry.arrays
      seen.index = max(seen.index, entry.index)
    else:
      skipped = seen.take(identity, entry.index, entry, entry.arrays)
      self._metrics['versions_skipped'] += skipped
    seen.pushed_at, seen.is_local = entry.pushed_at, entry.is_local

  def _read_cache(self, seen: _Seen) -> bool:
    """Takes what the host cache has; returns whether it had news."""
    if seen.cache is None or not seen.cache.has_news():
      return False
    entry = seen.cache.read()
    if entry is None:
      return False
    is_same_server = seen.cache.identity == seen.identity
    if is_same_server and entry.index < seen.index:
      return False
    self._take(seen, seen.cache.identity, entry)
    return True

  def _hit_cache(self, seen: _Seen) -> bool:
    is_hit = self._read_cache(seen)
    self._metrics['cache_hits'] += is_hit
    return is_hit

  def _join_cache(self, table: str, seen: _Seen, identity: bytes) -> None:
    """Uses the cache of the server incarnation that answers now."""
    if not self._use_cache:
      return
    if seen.cache is not None and seen.cache.identity == identity:
      return
    if seen.cache is not None:
      seen.cache.close()
      seen.cache = None
    try:
      seen.cache = host_cache_lib.HostCache(identity, table)
    except OSError as error:
      self._fall_back(error)

  def _to_cache(
    self,
    table: str,
    seen: _Seen,
    identity: bytes,
    entry: host_cache_lib.Entry,
  ) -> None:
    self._join_cache(table, seen, identity)
    if seen.cache is None:
      return
    try:
      seen.cache.write(entry)
    except OSError as error:
      self._fall_back(error)

  def _fall_back(self, error: OSError) -> None:
    if not self._metrics['cache_fallbacks']:
      logging.warning(
        'No host cache (%s); each process pulls its own copy from %s.',
        error,
        self._address,
      )
    self._metrics['cache_fallbacks'] += 1


def _check_table(address: str, name: str, tables: Any) -> nests.Signature:
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
  return nests.read_signature(
    nested_structure_coder.decode_proto(info.signature)
  )
