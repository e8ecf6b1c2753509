"""The server of calls between tasks; it is used like Courier's server.

Courier's own server unpickles what any client sends, so that a client can run
code in it, and tells any client the names of its methods. This server hangs up
on clients that do not know the run's call key. Before that, it sends them only
the protocol's name and a random number.
"""

import contextlib
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import portpicker

from rpc import admission, sealed

# Seconds that `Stop` waits for calls that are under way.
_STOP_SECS = 5.0
# The status codes that Courier's client gets for exceptions on the server.
_CODES = (
  (LookupError, 'NOT_FOUND'),
  ((ValueError, TypeError), 'INVALID_ARGUMENT'),
  (NotImplementedError, 'UNIMPLEMENTED'),
  (StopIteration, 'OUT_OF_RANGE'),
  (MemoryError, 'RESOURCE_EXHAUSTED'),
  (KeyboardInterrupt, 'ABORTED'),
)


class Server:
  """Serves functions; takes the place of `courier.Server`.

  Attributes:
    key: the run's call key; only clients that know it are served.
    interface: the address that it listens on; empty for all.
    port: the port that it listens on.
  """

  key = b''
  interface = ''

  def __init__(
    self,
    name: str | None = None,
    port: int | None = None,
    thread_pool_size: int = 16,
  ):
    """Makes a server that does not listen yet.

    Args:
      name: ignored; it is an argument of Courier's server.
      port: the port to listen on; None for any that is free.
      thread_pool_size: number of calls that are carried out at the same time.
    """
    del name
    self.port = port or portpicker.pick_unused_port()
    self._slots = threading.BoundedSemaphore(thread_pool_size)
    self._functions: dict[str, Callable[..., Any]] = {}
    self._lock = threading.Lock()
    self._connections: set[sealed.Connection] = set()
    self._calls = 0
    self._admission: admission.Admission | None = None

  @property
  def address(self) -> str:
    return f'localhost:{self.port}'

  @property
  def has_started(self) -> bool:
    return self._admission is not None

  def Bind(self, method_name: str, py_func: Callable[..., Any]) -> None:
    if not method_name:
      raise ValueError('the name of a method must not be empty')
    self._functions[method_name] = py_func

  # In Courier, `BindHandler` takes wrapped functions.
  BindHandler = Bind

  def Unbind(self, method_name: str) -> None:
    self._functions.pop(method_name, None)

  def SetIsHealthy(self, is_healthy: bool) -> None:
    """Does nothing; Courier has it for load balancers."""
    del is_healthy

  def Start(self) -> None:
    """Begins to listen.

    Raises:
      ValueError: the server was started before.
      OSError: the port is taken.
    """
    if self._admission:
      raise ValueError('Server already started')
    self._admission = admission.Admission(
      self.interface, self.port, self.key, self._on_client
    )

  def Stop(self) -> None:
    """Accepts no more calls, and waits some seconds for those under way."""
    if not self._admission:
      raise ValueError('Server not started yet')
    self._admission.close()
    deadline = time.monotonic() + _STOP_SECS
    while self._calls and time.monotonic() < deadline:
      time.sleep(0.01)
    with self._lock:
      for connection in self._connections:
        connection.cut()

  def Join(self) -> None:
    """Waits until a server that is being stopped has ended."""
    if not self._admission:
      raise ValueError('Server not started')
    self._admission.join()

  def _on_client(self, connection: sealed.Connection) -> None:
    threading.Thread(
      target=self._serve, args=[connection], name='call', daemon=True
    ).start()

  def _serve(self, connection: sealed.Connection) -> None:
    with self._lock:
      self._connections.add(connection)
    try:
      while not self._admission.is_closed:
        request = connection.receive()
        with self._slots, self._counted():
          connection.send(self._answer(request))
    except (OSError, EOFError):
      pass  # The client is gone.
    finally:
      with self._lock:
        self._connections.discard(connection)
      connection.close()

  @contextlib.contextmanager
  def _counted(self):
    with self._lock:
      self._calls += 1
    try:
      yield
    finally:
      with self._lock:
        self._calls -= 1

  def _answer(self, request: bytes) -> bytes:
    """Carries out a call.

    Args:
      request: the pickled name of the method and its arguments.

    Returns:
      The pickled reply: a status code and a text if the call failed, else None
      and the result.
    """
    try:
      method, args, kwargs = pickle.loads(request)
      if not method:
        return pickle.dumps((None, sorted(self._functions)))
      function = self._functions.get(method)
      if function is None:
        return pickle.dumps(('NOT_FOUND', f'method {method} not found'))
      result = function(*args, **kwargs)
    except BaseException as e:
      return pickle.dumps((_code(e), _describe(e)))
    try:
      return pickle.dumps((None, result), protocol=5)
    except Exception as e:
      text = f'the result of {method!r} cannot be pickled: {e}'
      return pickle.dumps(('INVALID_ARGUMENT', text))


def _code(error: BaseException) -> str:
  return next(
    (code for types, code in _CODES if isinstance(error, types)), 'UNKNOWN'
  )


def _describe(error: BaseException) -> str:
  lines = traceback.format_exception(
    type(error), error, error.__traceback__.tb_next
  )
  text = 'Python exception was raised on the server:\n' + ''.join(lines)
  sys.stderr.write(text)
  return text
