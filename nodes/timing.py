"""What a process spends its time on: how long calls take, by their purpose."""

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import compat  # noqa: F401

import jax
from acme import core

from run_files import patience, whole_files

_T = TypeVar('_T')
# The times of so many last seconds may be lost when the process is killed.
_WRITE_SECONDS = 5.0

ENVIRONMENT = {'reset': 'environment', 'step': 'environment'}
ACTOR = {'select_action': 'policy', 'update': 'weights'}
ADDER = {'add_first': 'insert', 'add': 'insert'}
BATCHED_POLICY = {'begin': 'policy', 'act': 'policy'}
LEARNER = {'step': 'step'}
PUBLISHER = {'publish': 'publish'}
SAMPLES = {'_next': 'sample wait'}


class Timer(Protocol):
  """Times the methods of objects, or leaves the objects as they are."""

  def time(self, target: _T, names: Mapping[str, str]) -> _T:
    """Returns the same object; from now on some of its methods are timed.

    Args:
      target: the object, or None where there is nothing to time.
      names: the purpose of each method, by the method's name.
    """

  def close(self) -> None:
    """Writes the times."""


class NoTimer:
  """Times nothing."""

  def time(self, target: _T, names: Mapping[str, str]) -> _T:
    return target

  def close(self) -> None:
    pass


class TreeTimer:
  """Writes the times as a tree: a call within a call stands below it."""

  def __init__(self, path: str):
    """Measures from the first call on, and adds to the times in the file.

    So a restarted process, or a resumed run, forgets nothing.

    Args:
      path: the JSON file: an object with `seconds` and `calls` for each path in
        the tree, such as 'policy/weights'. The path '' has all seconds since
        the first call.

    Raises:
      OSError: the file's folder cannot be made, or the file cannot be read.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    self._path = path
    self._totals: dict[str, list[float]] = {}
    if os.path.exists(path):
      with open(path) as f:
        for name, node in json.load(f).items():
          self._totals[name] = [node['seconds'], node['calls']]
    self._before = self._totals.pop('', [0.0])[0]
    self._began: float | None = None
    self._written = 0.0
    self._patience = patience.Patience(path, 'it is tried again')
    self._lock = threading.Lock()
    self._thread = threading.local()

  def time(self, target: _T, names: Mapping[str, str]) -> _T:
    if target is None:  # An agent may need no adder.
      return target
    for method, name in names.items():
      setattr(target, method, self._timed(getattr(target, method), name))
    return target

  def close(self) -> None:
    if self._began is not None:
      with self._lock:
        self._write(time.perf_counter())

  def _timed(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(call)
    def timed(*args, **kwargs):
      outer = getattr(self._thread, 'path', '')
      self._thread.path = path = f'{outer}/{name}' if outer else name
      began = time.perf_counter()
      try:
        return call(*args, **kwargs)
      finally:
        self._thread.path = outer
        self._add(path, began, time.perf_counter())

    return timed

  def _add(self, path: str, began: float, ended: float) -> None:
    with self._lock:
      if self._began is None:
        self._began = self._written = began
      # A call that has others within it ends after them and began before.
      self._began = min(self._began, began)
      total = self._totals.setdefault(path, [0.0, 0])
      total[0] += ended - began
      total[1] += 1
      if ended - self._written > _WRITE_SECONDS:
        self._write(ended)

  def _write(self, now: float) -> None:
    self._written = now
    seconds = self._before + now - self._began
    tree = {'': {'seconds': seconds, 'calls': 1}}
    for path, (seconds, calls) in self._totals.items():
      tree[path] = {'seconds': seconds, 'calls': calls}
    with self._patience.attempt():
      whole_files.write(self._path, json.dumps(tree, indent=1), durable=False)


class Trace:
  """Lets JAX trace some steps of a learner, for TensorBoard or Perfetto."""

  _FIRST, _LAST = 100, 120

  def __init__(self, directory: str | None):
    """Traces nothing yet, since the first steps compile.

    Args:
      directory: the folder that gets the trace. None makes no trace.
    """
    self._directory = directory
    self._steps = 0

  def follow(self, learner: core.Learner) -> None:
    """Counts the steps that a learner takes, and traces some of them."""
    if self._directory is None:
      return
    step = learner.step

    def counted() -> None:
      step()
      self._count()

    learner.step = counted

  def _count(self) -> None:
    self._steps += 1
    if self._steps == self._FIRST:
      jax.profiler.start_trace(self._directory)
    elif self._steps == self._LAST:
      self.close()

  def close(self) -> None:
    """Writes the trace, if one is being made."""
    if self._FIRST <= self._steps <= self._LAST:
      jax.profiler.stop_trace()
      self._steps = self._LAST + 1
