"""Processes of a benchmark that answer calls by name."""

import multiprocessing
import multiprocessing.connection
import os
from collections.abc import Callable
from typing import Any

from system import linux

_CALL_SECONDS = 300.0
# Forked processes start quickly. Before a fork, the parent must not have made a
# client or a server.
_FORK = multiprocessing.get_context('fork')


class ForkedProcess:
  """A forked process that answers calls, one at a time."""

  def __init__(self, make: Callable[[], dict[str, Callable]]):
    """Starts the process.

    Args:
      make: is called in the process, and returns the functions that answer
        calls, by name.
    """
    self._pipe, theirs = _FORK.Pipe()
    self._process = _FORK.Process(
      target=_obey, args=(theirs, make, os.getpid())
    )
    self._process.start()

  def start(self, call: str) -> None:
    """Starts a call, without waiting for its result."""
    self._pipe.send(call)

  def result(self) -> Any:
    """Returns the result of the call that was started.

    Raises:
      TimeoutError: there was no answer in time.
      Exception: the call raised this error.
    """
    if not self._pipe.poll(_CALL_SECONDS):
      raise TimeoutError(f'No answer within {_CALL_SECONDS:g} s.')
    result = self._pipe.recv()
    if isinstance(result, Exception):
      raise result
    return result

  def call(self, call: str) -> Any:
    """Starts a call and returns its result; raises the errors of `result`."""
    self.start(call)
    return self.result()

  def kill(self) -> None:
    self._process.kill()
    self._process.join()

  def close(self) -> None:
    # The process would not notice a closed pipe, since processes that were
    # forked later have the pipe as well.
    self._pipe.send(None)
    self._process.join(10)
    self.kill()


def _obey(
  pipe: multiprocessing.connection.Connection, make: Callable, parent: int
) -> None:
  linux.die_with_parent(parent)
  try:
    calls = make()
  except Exception as error:  # The first call raises it.
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
