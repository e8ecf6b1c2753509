"""Attacks a server: tries to make it create a file, without the call key.

python -m tests.rpc.strangers PATH ADDRESS

It tries every way that is open to a client without the key. If root runs it, it
first becomes an ordinary user.
"""

import contextlib
import encodings.idna  # noqa: F401  An ordinary user may not be able to read it.
import os
import pickle
import socket
import struct
import sys

import courier
from courier.python import client as courier_client

from rpc import client as call_client
from rpc import sealed

_METHODS = ('report', 'run', 'call', 'get_variables', 'pid', '')
_SECONDS = 1.0


class Evil:
  """Creates a file when it is unpickled."""

  def __init__(self, path: str):
    self._path = path

  def __reduce__(self):
    return open, (self._path, 'w')


def come(path: str, address: str) -> None:
  """Attacks a server in every way.

  Args:
    path: path of the file to create.
    address: host and port of the server.
  """
  _by_courier(path, address)
  wrong = type('Wrong', (call_client.Client,), {'key': b'wrong'})
  for kind in call_client.Client, wrong:
    client = kind(address, call_timeout=_SECONDS, wait_for_ready=False)
    for method in _METHODS:
      with contextlib.suppress(call_client.StatusNotOk):
        getattr(client, method)(Evil(path))
  _by_hand(path, address)


def _by_courier(path: str, address: str) -> None:
  client = courier.Client(address, call_timeout=_SECONDS, wait_for_ready=False)
  told = []
  with contextlib.suppress(Exception):
    told = courier_client.list_methods(client)
  for method in (*told, *_METHODS):
    with contextlib.suppress(courier_client.StatusNotOk):
      getattr(client, method)(Evil(path))


def _by_hand(path: str, address: str) -> None:
  """Sends a call in spite of a wrong answer, or of none."""
  host, port = address.rsplit(':', 1)
  data = pickle.dumps(('report', (Evil(path),), {}))
  for answer in b'', os.urandom(sealed.ANSWER_BYTES), b'x' * 1000:
    with (
      contextlib.suppress(OSError),
      socket.create_connection((host, int(port)), _SECONDS) as sock,
    ):
      sock.sendall(answer + struct.pack('!Q', len(data)) + b'c' * 32 + data)
      while sock.recv(1000):
        pass


if __name__ == '__main__':
  if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
  come(*sys.argv[1:])
