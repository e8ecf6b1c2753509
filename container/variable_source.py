"""The reader's side: Acme's `VariableSource` over a container.

This is the only file of this folder that needs Acme.
"""

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any

import compat  # noqa: F401, it patches JAX before Acme is imported.

from acme import core

from container import reverb_variable_container as container_lib
from container.client import connection as connection_lib

# Seconds that `close` waits for a read that is under way. The container's own
# timeout may be much longer.
_END_SECONDS = 5.0


class VariableSource(core.VariableSource):
  """Hands out the nests of a table whose value is a dict from name to nest.

  It returns the same arrays until there is a newer version. Acme polls from a
  thread whose exceptions are lost, so a failure is kept. The actor's loop calls
  `check`, which raises it.
  """

  def __init__(
    self,
    container: container_lib.ReverbVariableContainer,
    *,
    table: str = container_lib.DEFAULT_TABLE,
    refresh_seconds: float | None = None,
  ):
    """Stores the settings, and reads nothing yet.

    Args:
      container: The container to read through.
      table: The table's name.
      refresh_seconds: Seconds between two reads in a background thread; only
        the first `get_variables` then waits. None to read in each call.
    """
    self._container = container
    self._table = table
    self._lock = threading.Lock()
    self._snapshot = container_lib.Snapshot(0, None)
    self._version_given = 0
    self._failure: Exception | None = None
    self._unknown: KeyError | None = None
    self._refresh_seconds = refresh_seconds
    self._is_closed = threading.Event()
    self._thread: threading.Thread | None = None

  @property
  def version(self) -> int:
    """The version of the values returned last, 0 before the first."""
    return self._snapshot.version

  def newest_version(self) -> int:
    """Asks the server for the newest version; it is 0 before the first push.

    Raises:
      ConnectionError: no server answered before the container's deadline.
    """
    return self._container.version(self._table)

  def get_variables(self, names: Sequence[str]) -> list[Any]:
    """Returns the newest values; waits if nothing was pushed yet.

    Args:
      names: Keys of the table's dict.

    Returns:
      A nest for each name.

    Raises:
      ClosedError: the container was closed before the first push.
      ConnectionError: no server answered before the container's deadline.
      KeyError: the table has no such name.
      TimeoutError: nothing was pushed before the container's deadline.
    """
    if self._thread is None:
      self._read()
      self._start_thread()
    elif self._failure is not None:
      raise self._failure
    version, nests = self._snapshot
    try:
      values = [self._get(nests, name) for name in names]
    except KeyError as error:
      self._unknown = error
      raise
    self._unknown = None
    self._version_given = version
    return values

  def has_news(self) -> bool:
    """Returns whether `get_variables` may return others than at its last call.

    With a thread that reads in the background, this takes no time.
    """
    return (
      self._thread is None
      or self._failure is not None
      or self._snapshot.version != self._version_given
    )

  def close(self) -> None:
    """Ends the thread that reads, if one was started."""
    self._is_closed.set()
    if self._thread is not None:
      self._thread.join(_END_SECONDS)

  def check(self) -> None:
    """Raises the error of the last `get_variables` or of the thread, if any."""
    failure = self._failure or self._unknown
    if failure is not None:
      raise failure

  def metrics(self) -> dict[str, float]:
    """Returns the version in use, its lag, and the costs of reading."""
    newest = self._container.version_seen(self._table)
    version, values = self._snapshot
    metrics = self._container.metrics()
    metrics['version'] = version
    metrics['lag_versions'] = newest - version
    pushed_at = self._container.pushed_at(self._table)
    metrics['lag_seconds'] = (
      max(0.0, time.time() - pushed_at) if values is not None else 0.0
    )
    return {f'weights/{name}': float(v) for name, v in metrics.items()}

  def _start_thread(self) -> None:
    if self._refresh_seconds is not None:
      self._thread = threading.Thread(
        target=self._keep_reading, name='variable-source', daemon=True
      )
      self._thread.start()

  def _keep_reading(self) -> None:
    while not self._is_closed.wait(self._refresh_seconds):
      with contextlib.suppress(Exception):  # `check` raises it.
        self._read()

  def _read(self) -> None:
    with self._lock:
      try:
        self._refresh()
      except connection_lib.ClosedError:
        # The values that were read before stay in use.
        if self._snapshot.values is None:
          raise
      except Exception as error:
        self._failure = error
        raise
      self._failure = None

  def _refresh(self) -> None:
    is_first = self._snapshot.values is None
    snapshot = self._container.snapshot(
      self._table, self._snapshot.version, wait=is_first
    )
    if snapshot is not None:
      self._snapshot = snapshot

  def _get(self, values: Any, name: str) -> Any:
    if name not in values:
      raise KeyError(
        f'Table {self._table!r} has no variables {name!r}; '
        f'it has {sorted(values)}.'
      )
    return values[name]
