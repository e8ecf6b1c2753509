"""Measures what a process spends its time on, by the purpose of its calls."""

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
# When the process is killed, the times of these last seconds may be lost.
_WRITE_SECONDS = 5.0

ENVIRONMENT = {'reset': 'environment', 'step': 'environment'}
ACTOR = {'select_action': 'policy', 'update': 'weights'}
ADDER = {'add_first': 'insert', 'add': 'insert'}
BATCHED_POLICY = {'begin': 'policy', 'act': 'policy'}
LEARNER = {'step': 'step'}
PUBLISHER = {'publish': 'publish'}
SAMPLES = {'_next': 'sample wait'}


class Timer(Protocol):
  """Measures how long methods of objects take, or does nothing."""

  def time(self, target: _T, names: Mapping[str, str]) -> _T:
    """Times some methods of an object from now on; returns the object.

    Args:
      target: the object, or None if there is nothing to time.
      names: for each method to time, its purpose by its name.
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
  """Writes the times as a tree, in which a call is a child of its caller."""

  def __init__(self, path: str):
    """Reads the times that are in the file, to add to them.

    So a restarted process and a resumed run keep the times from before.

    Args:
      path: the JSON file to write. It has `seconds` and `calls` for each path
        in the tree, such as 'policy/weights'. The path '' has the seconds since
        the first timed call.

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
      # An outer call is added after its inner calls, but it began before them.
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
  """Has JAX trace some steps of a learner, for TensorBoard or Perfetto."""

  _FIRST, _LAST = 100, 120

  def __init__(self, directory: str | None):
    """Traces nothing yet: the trace leaves out the first steps, which compile.

    Args:
      directory: the folder of the trace. None makes no trace.
    """
    self._directory = directory
    self._steps = 0

  def follow(self, learner: core.Learner) -> None:
    """Makes a learner's `step` count its calls, and traces some of them."""
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
    """Ends and writes the trace, if one is being made."""
    if self._FIRST <= self._steps <= self._LAST:
      jax.profiler.stop_trace()
      self._steps = self._LAST + 1
