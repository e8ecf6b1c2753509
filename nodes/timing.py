"""Where a process's time goes: how long calls take, by what they are for."""

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
# How long a killed process may have been at it without leaving a word.
_WRITE_SECONDS = 5.0

ENVIRONMENT = {'reset': 'environment', 'step': 'environment'}
ACTOR = {'select_action': 'policy', 'update': 'weights'}
ADDER = {'add_first': 'insert', 'add': 'insert'}
BATCHED_POLICY = {'begin': 'policy', 'act': 'policy'}
LEARNER = {'step': 'step'}
PUBLISHER = {'publish': 'publish'}
SAMPLES = {'_next': 'sample wait'}


class Timer(Protocol):
  """Times the methods of objects, or leaves them as they are."""

  def time(self, target: _T, names: Mapping[str, str]) -> _T:
    """Returns the object, of which some methods are timed from now on.

    Args:
      target: has the methods.
      names: what each method is for, by its name.
    """

  def close(self) -> None:
    """Writes what was found."""


class NoTimer:
  """Leaves everything as it is."""

  def time(self, target: _T, names: Mapping[str, str]) -> _T:
    return target

  def close(self) -> None:
    pass


class TreeTimer:
  """Writes a tree of what calls are for, a call within a call beneath it."""

  def __init__(self, path: str):
    """Times from the first call on, and adds to what the file has.

    So a restarted process, or a resumed run, forgets nothing.

    Args:
      path: of the JSON file, an object by the path in the tree with `seconds`
        and `calls`; the path '' has the seconds of all since the first call.

    Raises:
      OSError: the file's folder cannot be made, or the file not be read.
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
    if target is None:  # As an adder that is not needed.
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
      self._began = min(self._began, began)  # That of a call around others.
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
    """Traces nothing yet: the first steps compile.

    Args:
      directory: gets the trace; without one there is none.
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
