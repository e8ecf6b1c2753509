"""Processes of a benchmark, each of which does what it is told."""

import multiprocessing
import multiprocessing.connection
import os
from collections.abc import Callable
from typing import Any

from system import linux

_CALL_SECONDS = 300.0
# A fork of a parent that made no client and no server starts at once.
_FORK = multiprocessing.get_context('fork')


class Role:
  """A forked process that answers calls, one at a time."""

  def __init__(self, make: Callable[[], dict[str, Callable]]):
    """Starts it.

    Args:
      make: Run in the process; returns what it can be told to do, by name.
    """
    self._pipe, theirs = _FORK.Pipe()
    self._process = _FORK.Process(
      target=_obey, args=(theirs, make, os.getpid())
    )
    self._process.start()

  def start(self, call: str) -> None:
    self._pipe.send(call)

  def result(self) -> Any:
    """What the call that was started returns; raises what it raises."""
    if not self._pipe.poll(_CALL_SECONDS):
      raise TimeoutError(f'No answer within {_CALL_SECONDS:g} s.')
    result = self._pipe.recv()
    if isinstance(result, Exception):
      raise result
    return result

  def call(self, call: str) -> Any:
    self.start(call)
    return self.result()

  def kill(self) -> None:
    self._process.kill()
    self._process.join()

  def close(self) -> None:
    # Later forks hold this pipe, too: closing it would tell nobody.
    self._pipe.send(None)
    self._process.join(10)
    self.kill()


def _obey(
  pipe: multiprocessing.connection.Connection, make: Callable, parent: int
) -> None:
  linux.die_with_parent(parent)
  try:
    calls = make()
  except Exception as error:  # It belongs to whoever asks first.
    failure = error
    calls = None
  while True:
    call = pipe.recv()
    if call is None:
      return
    try:
      pipe.send(calls[call]() if calls is not None else failure)
    except Exception as error:
      pipe.send(error)
