"""Calls to a Reverb server, each with a deadline and an error that says what.

They go through gRPC for Python, not Reverb's C++ client: its waits know no
deadline and no Ctrl-C, it aborts the process on a payload above 2 GiB, it
tells nothing of a server's identity, and it is half as fast (see
`reverb_wire.inserts`).
"""

import contextlib
import ctypes
import functools
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import grpc

from container import tables
from reverb_wire import messages, protobuf, samples, server_info, table_info

T = TypeVar('T')

_RETRY_SECONDS = 0.1
# A server that lives answers a question about itself in a millisecond.
_ALIVE_SECONDS = 2.0
# glibc's numbers for two limits, and what `_keep_memory` sets them to.
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 2**29
_M_MMAP_THRESHOLD, _REUSED_BYTES = -3, 2**25
_OPTIONS = (
  ('grpc.max_send_message_length', -1),
  ('grpc.max_receive_message_length', -1),
  # A proxy from the environment makes calls inside a program hang.
  ('grpc.enable_http_proxy', 0),
  ('grpc.initial_reconnect_backoff_ms', 100),
  ('grpc.min_reconnect_backoff_ms', 500),
  ('grpc.max_reconnect_backoff_ms', 1000),
)


class ClosedError(ConnectionError):
  """A client was closed, maybe while it was waiting."""


class ServerState(NamedTuple):
  """What a server says of one table, without moving any payload.

  Attributes:
    identity: Drawn by the server when it starts.
    inserts: Items put into the table since then.
    size: Items in it.
    info: All that it says of the table.
  """

  identity: bytes
  inserts: int
  size: int
  info: table_info.TableInfo


class OtherServerError(Exception):
  """Another server came to the address during a call; it is to begin anew."""


def _same(data: bytes) -> bytes:
  return data


@functools.cache
def _keep_memory() -> None:
  """Lets this process use the memory of one payload for the next.

  glibc would give it back and ask for it anew, and half of the time of a pull
  would go into clearing pages.
  """
  libc = ctypes.CDLL(None)
  if hasattr(libc, 'mallopt'):
    libc.mallopt(_M_MMAP_THRESHOLD, _REUSED_BYTES)
    libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


class Transport:
  """One connection to one Reverb server, made again whenever it breaks."""

  def __init__(self, address: str, timeout: float):
    self.address = address
    self.timeout = timeout
    self._is_closed = False
    self._channel = grpc.insecure_channel(address, options=_OPTIONS)
    self._info = self._channel.unary_unary(
      messages.SERVER_INFO_METHOD, _same, _same
    )
    self._insert = self._channel.stream_stream(
      messages.INSERT_METHOD, _same, _same
    )
    # One request is all it takes; a stream of them has a thread of its own.
    self._sample = self._channel.unary_stream(
      messages.SAMPLE_METHOD, _same, _same
    )

  def close(self) -> None:
    """Ends the calls that are under way, too."""
    self._is_closed = True
    self._channel.close()

  def server_info(self) -> server_info.ServerInfo:
    """What the server says of itself.

    Raises:
      ConnectionError: no Reverb server answered before the deadline.
    """
    return self._retry(
      lambda left: server_info.read(self._info(b'', timeout=left), left),
      'its tables',
    )

  def state(self, table: str) -> ServerState:
    """What the server says of a table.

    Raises:
      ConnectionError: no server answered before the deadline.
      KeyError: the server there has no such table.
    """
    server = self.server_info()
    info = tables.find(self.address, table, server.tables)
    return ServerState(server.identity, info.inserts, info.size, info)

  def insert(
    self,
    table: str,
    identity: bytes,
    requests: Callable[[], Iterator[bytes]],
    meanwhile: Callable[[], None],
  ) -> None:
    """Puts one item into a table; sending it twice is as sending it once.

    Args:
      table: The table's name, for the errors.
      identity: Of the server that it is meant for.
      requests: Makes the stream of chunks and the item, anew for each attempt.
      meanwhile: Called in each attempt while they are on their way.

    Raises:
      ConnectionError: no server took it before the deadline.
      OtherServerError: the one that it is meant for is gone.
      ValueError: the server refused it.
    """
    attempts = itertools.count()

    def attempt(left: float) -> None:
      # No server compares what it is given with its tables' signatures.
      if next(attempts):
        self._confirm(identity, self._info(b'', timeout=left), left)
      _keep_memory()
      call = self._insert(requests(), timeout=left)
      with contextlib.closing(_Cancelled(call)):
        meanwhile()
        if next(call, None) is None:
          raise protobuf.MalformedError('it ended without a word')

    self._retry(attempt, f'a push to table {table!r}')

  def sample(
    self,
    table: str,
    identity: bytes,
    leaves: int,
    is_news: Callable[[samples.Item], bool],
  ) -> samples.SampleReader | None:
    """Reads a table's item, waiting for one if there is none.

    Args:
      table: The table's name.
      identity: Of the server that it is to come from.
      leaves: How many the item has.
      is_news: Decides, from what comes before the payload, whether to read on.

    Returns:
      The item, or None if it was no news.

    Raises:
      ConnectionError: no server answered before the deadline.
      OtherServerError: the item came from another one.
      TimeoutError: there was no item before the deadline.
    """

    def attempt(left: float) -> samples.SampleReader | None:
      request = samples.encode_request(table, left)
      # The server's own answer that it waited in vain must arrive first.
      call = self._sample(request, timeout=left + 1.0)
      _keep_memory()
      with contextlib.closing(_Cancelled(call)):
        reader, info = samples.SampleReader(leaves, left), None
        for response in call:
          reader.feed(response)
          if info is None:
            # A server that is the same before and after was so in between;
            # it says so while the payload is on its way.
            info = self._info.future(b'', timeout=left)
            if not is_news(reader.item):
              reader = None
              break
        if info is None:
          raise protobuf.MalformedError('it ended without a word')
        self._confirm(identity, info.result(), left)
        return reader

    return self._retry(attempt, f'a value in table {table!r}')

  def _confirm(self, identity: bytes, info: bytes, seconds: float) -> None:
    if server_info.read(info, seconds).identity != identity:
      raise OtherServerError

  def _retry(self, attempt: Callable[[float], T], what: str) -> T:
    try:
      return self._try_until_deadline(attempt, what)
    except Exception:
      if not self._is_closed:
        raise
      raise ClosedError(
        f'The client of {self.address} was closed (wanted: {what}).'
      ) from None

  def _try_until_deadline(self, attempt: Callable[[float], T], what: str) -> T:
    deadline = time.monotonic() + self.timeout
    while True:
      left = max(0.001, deadline - time.monotonic())
      try:
        return attempt(left)
      except protobuf.MalformedError as error:
        raise ConnectionError(
          f'What answers at {self.address} is no Reverb server, or a broken '
          f'one (wanted: {what}): {error}.'
        ) from error
      except grpc.RpcError as error:
        code = error.code()
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
          raise self._too_late(what) from error
        if code != grpc.StatusCode.UNAVAILABLE:
          raise ValueError(
            f'The server at {self.address} refused {what}: {error.details()}'
          ) from error
        if time.monotonic() + _RETRY_SECONDS > deadline:
          raise self._gone(what) from error
      time.sleep(_RETRY_SECONDS)

  def _too_late(self, what: str) -> Exception:
    """Tells a server that has nothing from one which is not there."""
    try:
      self._info(b'', timeout=min(_ALIVE_SECONDS, self.timeout))
    except grpc.RpcError:
      return self._gone(what)
    return TimeoutError(
      f'Waited {self.timeout:g} s in vain for {what} at {self.address}. '
      'Is the pusher (the learner) running?'
    )

  def _gone(self, what: str) -> ConnectionError:
    return ConnectionError(
      f'No Reverb server answered at {self.address} within {self.timeout:g} s '
      f'(wanted: {what}). Is the variable server running, and is that its '
      'address?'
    )


class _Cancelled:
  """Ends a call on leaving, whatever was read of it."""

  def __init__(self, call: Any):
    self.close = call.cancel
