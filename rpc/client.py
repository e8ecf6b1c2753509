"""The client of calls between tasks; it is used like Courier's client."""

import collections
import contextlib
import datetime
import importlib
import pickle
import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any, NoReturn

from courier.python import client as courier_client

from rpc import sealed

StatusNotOk = courier_client.StatusNotOk
# Courier's extension modules make this module; there is no file of it.
_status = importlib.import_module('pybind11_abseil.status')
# Seconds that connecting may take. Another program that sends nothing may
# listen at the address.
_CONNECT_SECS = 5.0
_RETRY_SECS = 0.05


class Client:
  """Calls the functions of a server; takes the place of `courier.Client`.

  Each call under way has a connection of its own. Idle connections are kept
  for the next calls.

  Attributes:
    key: the run's call key; servers that do not know it are not called.
    address: host and port of the server.
    futures: an object with the same methods, which return futures at once.
  """

  key = b''

  def __init__(
    self,
    server_address: str,
    compress: bool = False,
    call_timeout: int | float | datetime.timedelta | None = None,
    wait_for_ready: bool = True,
  ):
    """Stores the settings; the first call connects.

    Args:
      server_address: host and port of the server.
      compress: ignored; it is an argument of Courier's client.
      call_timeout: seconds that a call may take; None or 0 for no limit.
      wait_for_ready: whether a call waits for a server that does not run yet.
    """
    self._init_args = (server_address, compress, call_timeout, wait_for_ready)
    self.address = str(server_address)
    if isinstance(call_timeout, datetime.timedelta):
      call_timeout = call_timeout.total_seconds()
    self._call_timeout = call_timeout or None
    self._wait_for_ready = wait_for_ready
    self._idle: collections.deque[sealed.Connection] = collections.deque()
    self.futures = _Futures(self._call)

  def __reduce__(self):
    # Without the key: the process that gets the client has it already.
    return type(self), self._init_args

  def __getattr__(self, method: str) -> Callable[..., Any]:
    if method.startswith('__'):
      raise AttributeError(method)

    def call(*args, **kwargs):
      return self._call(method, args, kwargs)

    setattr(self, method, call)
    return call

  def __del__(self):
    for connection in self.__dict__.get('_idle', ()):
      connection.close()

  def _call(self, method: str, args: Any, kwargs: Any) -> Any:
    deadline = None
    if self._call_timeout is not None:
      deadline = time.monotonic() + self._call_timeout
    try:
      request = pickle.dumps((method, args, kwargs), protocol=5)
    except Exception as e:
      _fail(
        'INVALID_ARGUMENT',
        f'the arguments of {method!r} cannot be pickled: {e}',
      )
    connection = self._connection(deadline)
    try:
      connection.send(request, deadline)
      reply = connection.receive(deadline)
    except TimeoutError as e:
      connection.close()
      _fail(
        'DEADLINE_EXCEEDED',
        f'Deadline Exceeded: {self.address} did not answer {method!r} within '
        f'{self._call_timeout:g} s',
        e,
      )
    except (OSError, EOFError) as e:
      connection.close()
      _fail('UNAVAILABLE', f'{self.address} is gone: {e}', e)
    except BaseException:
      # The next call on this connection would get the answer to this one.
      connection.close()
      raise
    self._idle.append(connection)
    code, value = pickle.loads(reply)
    if code is not None:
      _fail(code, value)
    return value

  def _connection(self, deadline: float | None) -> sealed.Connection:
    with contextlib.suppress(IndexError):
      while True:
        connection = self._idle.pop()
        if connection.is_open():
          return connection
        connection.close()
    while True:
      soon = time.monotonic() + _CONNECT_SECS
      try:
        return sealed.connect(
          self.address, self.key, min(soon, deadline or soon)
        )
      except (OSError, EOFError) as e:
        error = e
      if not self._wait_for_ready:
        _fail(
          'UNAVAILABLE',
          f'failed to connect to all addresses: {self.address}: {error}',
          error,
        )
      if deadline is not None and time.monotonic() + _RETRY_SECS > deadline:
        _fail(
          'DEADLINE_EXCEEDED',
          f'Deadline Exceeded: no server of this run answered at '
          f'{self.address} within {self._call_timeout:g} s: {error}',
          error,
        )
      time.sleep(_RETRY_SECS)


class _Futures:
  """Takes the place of `courier.Client.futures`."""

  def __init__(self, call: Callable[[str, Any, Any], Any]):
    self._call = call

  def __getattr__(self, method: str) -> Callable[..., futures.Future]:
    def begin(*args, **kwargs) -> futures.Future:
      future = futures.Future()

      def finish() -> None:
        try:
          result, error = self._call(method, args, kwargs), None
        except BaseException as e:
          result, error = None, e
        # The caller may have cancelled it meanwhile.
        with contextlib.suppress(futures.InvalidStateError):
          if error is None:
            future.set_result(result)
          else:
            future.set_exception(error)

      threading.Thread(target=finish, name='future', daemon=True).start()
      return future

    return begin


def list_methods(client: Client) -> list[str]:
  """Returns the names of a server's methods, as `courier.list_methods` does."""
  return client._call('', (), {})


def _fail(
  code: str, message: str, cause: BaseException | None = None
) -> NoReturn:
  error = StatusNotOk(message)
  error.code = getattr(_status.StatusCode, code)
  raise error from cause
