"""This process as a driver of a Ray cluster."""

import atexit
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures

import ray

from system import stops

_CONNECT_SECS = 10.0
# The most seconds to wait for the cluster's answer. Ray itself waits for
# minutes.
_ANSWER_SECS = 60.0
# The most seconds for giving things back to the cluster. When this process
# ends, Ray takes back the rest.
LEAVE_SECS = 20.0
_POLL_SECS = 0.2


class NoClusterError(ConnectionError):
  """There is no Ray cluster at an address."""


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
  """Makes this process a driver of a cluster while the body runs.

  Args:
    address: the cluster's address, `auto` or host and port; this machine is one
      of the cluster's nodes.

  Raises:
    NoClusterError: there is no cluster, or it does not answer.
  """
  # Ray would warn that it is not started in the main thread.
  logging.getLogger('ray').setLevel(logging.ERROR)
  try:
    if ':' in address:
      host, _, port = address.rpartition(':')
      socket.create_connection((host, int(port)), _CONNECT_SECS).close()
    is_there = _connect(address)
  except (OSError, ValueError, RuntimeError) as e:
    raise NoClusterError(
      f'there is no Ray cluster at {address!r} of which this machine is a node '
      f'({str(e).splitlines()[0]}); start one with `ray start`'
    ) from e
  if not is_there:
    raise NoClusterError(
      f'the Ray cluster at {address!r} does not answer within '
      f'{_ANSWER_SECS:.0f} s, though a process listens there; end the rest of '
      'the cluster with `ray stop`, and start it again with `ray start`'
    )
  try:
    yield
  finally:
    # Otherwise Python would wait for `ray.shutdown` when this process ends.
    atexit.unregister(ray.shutdown)
    within(LEAVE_SECS, ray.shutdown)


def _connect(address: str) -> bool:
  """Becomes a driver; returns whether the cluster answered in time."""
  deadline = time.monotonic() + _ANSWER_SECS
  # Ray sets a handler for SIGTERM that aborts this process.
  with stops.holding_back() as has_come:
    connecting = _beside(
      lambda: ray.init(
        address=address,
        configure_logging=False,
        log_to_driver=False,
        logging_level='ERROR',
      )
    )
    while not connecting.done() and time.monotonic() < deadline:
      if has_come():
        break
      futures.wait([connecting], _POLL_SECS)
  futures.wait([connecting], max(deadline - time.monotonic(), 0.0))
  if not connecting.done():
    return False
  connecting.result()
  return True


def within(timeout: float, work: Callable[[], object]) -> None:
  """Does work in a thread, and returns after `timeout` seconds at the latest.

  Work that is not done by then goes on in its thread.
  """
  futures.wait([_beside(work)], timeout)


def _beside(work: Callable[[], object]) -> futures.Future:
  """Starts work in another thread, since the work may never return."""
  future = futures.Future()

  def run() -> None:
    try:
      future.set_result(work())
    except BaseException as e:
      future.set_exception(e)

  threading.Thread(target=run, name='ray', daemon=True).start()
  return future
