"""The reader's side: Acme's `VariableSource` over a container."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import compat  # noqa: F401, Acme finds JAX patched.

from acme import core

from container import reverb_variable_container as container_lib
from container import tables


class VariableSource(core.VariableSource):
  """Hands out the parts of a table whose value is a dict from name to nest.

  The very same arrays come back while nothing is newer, and that answer is
  cheap. Acme polls from a thread whose exceptions nobody sees, so a failure is
  kept until `check`, which the actor's loop calls, raises it.
  """

  def __init__(
    self,
    container: container_lib.ReverbVariableContainer,
    *,
    table: str = tables.DEFAULT_TABLE,
  ):
    """Reads nothing yet.

    Args:
      container: To read through.
      table: The table's name.
    """
    self._container = container
    self._table = table
    self._lock = threading.Lock()
    self._snapshot = container_lib.Snapshot(0, None)
    self._in_use_since = 0.0
    self._failure: Exception | None = None

  @property
  def version(self) -> int:
    """Of the values returned last, 0 before the first."""
    return self._snapshot.version

  def get_variables(self, names: Sequence[str]) -> list[Any]:
    """The newest values, waiting for the first push.

    Args:
      names: Keys of the table's dict.

    Returns:
      One nest a name.

    Raises:
      ConnectionError: no server answered before the container's deadline.
      KeyError: the table has no such name.
      TimeoutError: nothing was pushed before the container's deadline.
    """
    with self._lock:
      try:
        self._refresh()
        values = [self._get(name) for name in names]
      except Exception as error:
        self._failure = error
        raise
      self._failure = None
      return values

  def check(self) -> None:
    """Raises what the last `get_variables` failed with, if it did."""
    failure = self._failure
    if failure is not None:
      raise failure

  def metrics(self) -> dict[str, float]:
    """The version in use, how far it lags, and what reading took."""
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

  def _refresh(self) -> None:
    is_first = self._snapshot.values is None
    snapshot = self._container.snapshot(
      self._table, self._snapshot.version, wait=is_first
    )
    if snapshot is not None:
      self._snapshot = snapshot

  def _get(self, name: str) -> Any:
    values = self._snapshot.values
    if name not in values:
      raise KeyError(
        f'Table {self._table!r} has no variables {name!r}; '
        f'it has {sorted(values)}.'
      )
    return values[name]
