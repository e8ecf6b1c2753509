"""Calls to a Reverb server, each with a deadline and a clear error.

The calls use gRPC for Python, not Reverb's C++ client. That client waits
without a deadline and ignores Ctrl-C, aborts the process on a payload above
2 GiB, does not say which server answers, and is half as fast (see
`reverb_wire.inserts`).
"""

import ctypes
import functools
import itertools
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import grpc
import grpc.experimental

from container.client import versions
from reverb_wire import messages, protobuf, samples, server_info

T = TypeVar('T')

_RETRY_SECONDS = 0.1
# Seconds to wait for an answer that takes a live server a millisecond.
_ALIVE_SECONDS = 2.0
# glibc's numbers for two limits, and the bytes to which they are set.
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 2**29
_M_MMAP_THRESHOLD, _REUSED_BYTES = -3, 2**25
_OPTIONS = (
  ('grpc.max_send_message_length', -1),
  ('grpc.max_receive_message_length', -1),
  # A proxy from the environment variables makes calls inside a program hang.
  ('grpc.enable_http_proxy', 0),
  ('grpc.initial_reconnect_backoff_ms', 100),
  ('grpc.min_reconnect_backoff_ms', 500),
  ('grpc.max_reconnect_backoff_ms', 1000),
  # The thread that waits for a sample reads it. It would otherwise be woken by
  # another thread, for each message.
  (grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1),
)


class ClosedError(ConnectionError):
  """The client was closed, perhaps while it was waiting."""


class OtherServerError(Exception):
  """A new server came during a call, and the call must be repeated."""


def _same(data: bytes) -> bytes:
  return data


@functools.cache
def _keep_memory() -> None:
  """Lets this process use the memory of one payload for the next.

  Otherwise glibc would give it back to the system and ask for it again, and a
  pull would spend half of its time on clearing pages.
  """
  libc = ctypes.CDLL(None)
  if hasattr(libc, 'mallopt'):
    libc.mallopt(_M_MMAP_THRESHOLD, _REUSED_BYTES)
    libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


class Connection:
  """A connection to a Reverb server, made again whenever it breaks.

  Attributes:
    address: The server's host and port.
    timeout: Seconds until a call gives up.
  """

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
    # A stream of requests needs a thread, which costs more than a small item.
    self._insert_one = self._channel.unary_unary(
      messages.INSERT_METHOD, _same, _same
    )
    self._sample = self._channel.unary_stream(
      messages.SAMPLE_METHOD, _same, _same
    )

  def close(self) -> None:
    """Closes the connection; ends calls that are under way by an error."""
    self._is_closed = True
    self._channel.close()

  def server_info(self) -> server_info.ServerInfo:
    """Asks the server about itself and its tables.

    Raises:
      ConnectionError: no Reverb server answered before the deadline.
    """
    return self._retry(
      lambda left: server_info.read(self._info(b'', timeout=left), left),
      'its tables',
    )

  def insert(
    self,
    table_name: str,
    identity: bytes,
    make_requests: Callable[[], Iterator[bytes]],
    meanwhile: Callable[[], None],
    is_one_request: bool,
  ) -> None:
    """Puts one item into a table; sending it twice is the same as once.

    Args:
      table_name: The table's name, for the errors.
      identity: The identity of the server that the item is meant for.
      make_requests: Makes the serialized requests; called for each attempt.
      meanwhile: Called in each attempt while the requests are being sent. One
        request alone is sent after it.
      is_one_request: Whether there is only one request.

    Raises:
      ConnectionError: no server took the item before the deadline.
      OtherServerError: the server that the item is meant for is gone.
      ValueError: the server refused the item.
    """
    attempts = itertools.count()

    def attempt(left: float) -> None:
      # A server does not check an item against its table's signature, so a
      # second attempt must not reach another server.
      if next(attempts):
        self._confirm(identity, left)
      _keep_memory()
      if is_one_request:
        meanwhile()
        answer = self._insert_one(b''.join(make_requests()), timeout=left)
      else:
        answer = self._insert_many(make_requests(), meanwhile, left)
      if answer is None:
        raise protobuf.MalformedError('the call ended with no answer')

    self._retry(attempt, f'a push to table {table_name!r}')

  def _insert_many(
    self,
    requests: Iterator[bytes],
    meanwhile: Callable[[], None],
    seconds: float,
  ) -> bytes | None:
    """Sends requests of which several follow each other, as `insert` does."""
    call = self._insert(requests, timeout=seconds)
    try:
      meanwhile()
      return next(call, None)
    finally:
      call.cancel()

  def sample(
    self,
    table_name: str,
    identity: bytes,
    leaf_count: int,
    is_wanted: Callable[[samples.Item], bool],
  ) -> samples.SampleReader | None:
    """Reads a table's item, and waits for one if the table is empty.

    Args:
      table_name: The table's name.
      identity: The identity of the server that the item must come from.
      leaf_count: How many leaves the item must have.
      is_wanted: Returns whether to read the payload of an item, of which it is
        given the header.

    Returns:
      A reader that has the whole item, or None if the item was not wanted.

    Raises:
      ConnectionError: no server answered before the deadline.
      OtherServerError: the item came from another server.
      TimeoutError: there was no item before the deadline.
    """

    def attempt(left: float) -> samples.SampleReader | None:
      request = samples.encode_request(table_name, left)
      # The server itself waits `left` seconds, and its answer must arrive.
      call = self._sample(request, timeout=left + 1.0)
      _keep_memory()
      reader, wanted = samples.SampleReader(leaf_count, left), None
      try:
        for response in call:
          is_header = reader.item is None
          reader.feed(response)
          if is_header and not is_wanted(reader.item):
            break
          wanted = reader
      finally:
        call.cancel()
      if reader.item is None:
        raise protobuf.MalformedError('the call ended with no answer')
      # If the same server answers before and after the sample, it sent it. A
      # key may spare the question.
      if not versions.is_key_for(reader.item.key, identity):
        self._confirm(identity, left)
      return wanted

    return self._retry(attempt, f'a value in table {table_name!r}')

  def _confirm(self, identity: bytes, seconds: float) -> None:
    info = self._info(b'', timeout=seconds)
    if server_info.read_identity(info, seconds) != identity:
      raise OtherServerError

  def _retry(self, attempt: Callable[[float], T], wanted: str) -> T:
    try:
      return self._try_until_deadline(attempt, wanted)
    except Exception:
      if not self._is_closed:
        raise
      raise ClosedError(
        f'The client of {self.address} was closed (wanted: {wanted}).'
      ) from None

  def _try_until_deadline(
    self, attempt: Callable[[float], T], wanted: str
  ) -> T:
    deadline = time.monotonic() + self.timeout
    while True:
      left = max(0.001, deadline - time.monotonic())
      try:
        return attempt(left)
      except protobuf.MalformedError as error:
        raise ConnectionError(
          f'The program at {self.address} is not a Reverb server, or it is '
          f'broken (wanted: {wanted}): {error}.'
        ) from error
      except grpc.RpcError as error:
        code = error.code()
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
          raise self._too_late(wanted) from error
        if code != grpc.StatusCode.UNAVAILABLE:
          raise ValueError(
            f'The server at {self.address} refused {wanted}: {error.details()}'
          ) from error
        if time.monotonic() + _RETRY_SECONDS > deadline:
          raise self._gone(wanted) from error
      time.sleep(_RETRY_SECONDS)

  def _too_late(self, wanted: str) -> Exception:
    """Returns the error: the server has no item, or it does not run."""
    try:
      self._info(b'', timeout=min(_ALIVE_SECONDS, self.timeout))
    except grpc.RpcError:
      return self._gone(wanted)
    return TimeoutError(
      f'Waited {self.timeout:g} s in vain for {wanted} at {self.address}. '
      'Is the pusher (the learner) running?'
    )

  def _gone(self, wanted: str) -> ConnectionError:
    return ConnectionError(
      f'No Reverb server answered at {self.address} within {self.timeout:g} s '
      f'(wanted: {wanted}). Is the variable server running, and is that its '
      'address?'
    )
