"""The learner's side: a thread pushes values, and the newest value wins."""

import dataclasses
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from container import reverb_variable_container as container_lib
from container.nests import structure

# Seconds between two checks whether the server has restarted without values.
_REFILL_SECONDS = 1.0


class Publisher:
  """Pushes values from a thread of its own.

  A training step calls `publish`, which never waits for the network. While one
  value is being pushed, at most one more waits, and a newer value replaces it.
  A server that restarted empty gets the last value again.
  """

  def __init__(
    self,
    container: container_lib.ReverbVariableContainer,
    *,
    table: str = container_lib.DEFAULT_TABLE,
    every_steps: int = 1,
    every_seconds: float = 0.0,
    version: int = 0,
    accepts: Callable[[Any], bool] = lambda values: True,
  ):
    """Starts the thread.

    Args:
      container: The container to push through.
      table: The table's name.
      every_steps: The number of calls of `publish` for each push.
      every_seconds: The least number of seconds between two pushes.
      version: The version of the last value pushed before a restore; the next
        version is higher. 0 for a new learner.
      accepts: Returns whether to push a value. The thread calls it before each
        push. If it raises, the push has failed.
    """
    self._container = container
    self._table = table
    self._every_steps = every_steps
    self._every_seconds = every_seconds
    self._version = version
    self._accepts = accepts
    self._steps = 0
    self._due_at = 0.0
    self._condition = threading.Condition()
    self._waiting: Any = None
    self._is_pushing = False
    self._is_closed = False
    self._failure: Exception | None = None
    self._last: Any = None
    self._metrics = dict.fromkeys(
      ('published', 'replaced', 'blocked_seconds', 'refills'), 0.0
    )
    self._thread = threading.Thread(
      target=self._run, name=f'publisher-{table}', daemon=True
    )
    self._thread.start()

  @property
  def version(self) -> int:
    """The version of the value pushed last."""
    return self._version

  def publish(self, get_values: Callable[[], Any] | Any) -> None:
    """Takes a value to push, if a push is due.

    Args:
      get_values: The nest, or a function that returns it. The function is
        called only if a push is due.

    Raises:
      Exception: the error of an earlier push.
    """
    self._raise_failure()
    self._steps += 1
    now = time.monotonic()
    if self._steps % self._every_steps or now < self._due_at:
      return
    self._due_at = now + self._every_seconds
    values = get_values() if callable(get_values) else get_values
    values = _detach(values)
    with self._condition:
      self._metrics['replaced'] += self._waiting is not None
      self._waiting = (values,)
      self._condition.notify_all()
    self._metrics['published'] += 1
    self._metrics['blocked_seconds'] += time.monotonic() - now

  def flush(self, timeout: float = 60.0) -> None:
    """Waits until the published value is pushed.

    Args:
      timeout: Seconds to wait.

    Raises:
      TimeoutError: the push took longer.
      Exception: the error of this push or of an earlier one.
    """
    with self._condition:
      is_done = self._condition.wait_for(
        lambda: self._failure or not (self._waiting or self._is_pushing),
        timeout,
      )
    self._raise_failure()
    if not is_done:
      raise TimeoutError(
        f'Table {self._table!r} was not pushed within {timeout:g} s.'
      )

  def close(self, timeout: float = 60.0) -> None:
    """Pushes the value that waits, ends the thread, and raises as `flush` does.

    Args:
      timeout: Seconds to wait for the push.
    """
    try:
      self.flush(timeout)
    finally:
      with self._condition:
        self._is_closed = True
        self._condition.notify_all()
      self._thread.join(_REFILL_SECONDS)

  def metrics(self) -> dict[str, float]:
    """Returns what was published and pushed; names begin with `weights/`."""
    metrics = {**self._container.metrics(), **self._metrics}
    metrics['version'] = self._version
    return {f'weights/{name}': float(v) for name, v in metrics.items()}

  def _raise_failure(self) -> None:
    with self._condition:
      failure, self._failure = self._failure, None
    if failure is not None:
      raise failure

  def _run(self) -> None:
    while True:
      with self._condition:
        self._condition.wait_for(
          lambda: self._waiting or self._is_closed, _REFILL_SECONDS
        )
        if self._is_closed:
          return
        waiting, self._waiting = self._waiting, None
        self._is_pushing = waiting is not None
      try:
        if waiting is not None:
          if self._accepts(waiting[0]):
            self._push(waiting[0])
        elif self._last is not None and self._container.is_empty(self._table):
          self._metrics['refills'] += 1
          self._push(self._last)
      except Exception as error:  # pylint: disable=broad-except
        self._failure = error
      finally:
        with self._condition:
          self._is_pushing = False
          self._condition.notify_all()

  def _push(self, values: Any) -> None:
    self._last = values
    seen = self._container.version_seen(self._table)
    # A restored learner may be ahead of a server that restarted empty. It may
    # be behind a server that got later versions before the learner crashed.
    ahead = self._version > seen and self._version > self._container.version(
      self._table
    )
    version = self._version + 1 if ahead else None
    self._version = self._container.push(values, self._table, version=version)


def _detach(values: Any) -> Any:
  """Returns values that no later training step can change.

  A JAX array is immutable, but a later step may donate its memory. On a CPU, a
  view of the array keeps that memory from reuse. On an accelerator, the array
  is copied on the device, which is cheap. The transfer of the copy to the host
  begins here and ends in the background.
  """
  jax = sys.modules.get('jax')
  if jax is not None:  # JAX walks a nest in a third of the time.
    return jax.tree_util.tree_map(_detach_leaf, values)
  return _detach_by_path(values)


def _detach_by_path(values: Any) -> Any:
  node, leaves = structure.split(values)
  if node is structure.LEAF:
    return _detach_leaf(values)
  detached = {path: _detach_leaf(leaf) for path, leaf in leaves.items()}
  return structure.rebuild(node, detached)


def _detach_leaf(leaf: Any) -> Any:
  if isinstance(leaf, np.ndarray):
    return leaf.copy()
  if hasattr(leaf, 'numpy'):
    # A tensor's array may share the tensor's memory.
    return np.array(leaf.numpy())
  if dataclasses.is_dataclass(leaf):  # JAX takes it for a leaf.
    return _detach_by_path(leaf)
  jax = sys.modules.get('jax')
  if jax is None or not isinstance(leaf, jax.Array):
    return leaf
  if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
    return leaf
  if all(device.platform == 'cpu' for device in leaf.devices()):
    return np.asarray(leaf)
  leaf = leaf.copy()
  leaf.copy_to_host_async()
  return leaf
