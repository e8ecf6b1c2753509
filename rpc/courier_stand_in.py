"""Replaces Courier's servers and clients by those of `rpc`.

Launchpad's nodes, and a program's own code, call `courier`, which has no
authentication. So each process of a run replaces Courier's servers and clients
by those of `rpc`, which talk only to tasks of the same run. The launcher makes
the run's call key by `make_key`; each task reads it by `install`. Only this
file changes Courier and Launchpad for that.
"""

import os
import pathlib
import secrets

import courier
import launchpad as lp
from courier.handlers.python import pybind
from courier.python import client as courier_client
from courier.python import py_server
from launchpad.nodes.courier import node as courier_node

from rpc import client, server

_KEY_FILE = 'calls.key'


def make_key(directory: str) -> None:
  """Makes a run's call key.

  Args:
    directory: path of the run's private folder, which only its user can read.
  """
  path = os.path.join(directory, _KEY_FILE)
  with open(path, 'wb', opener=_private) as f:
    f.write(secrets.token_bytes())


def install(directory: str, interface: str) -> None:
  """Replaces Courier's servers and clients in this process.

  Args:
    directory: path of the folder that `make_key` was called with.
    interface: the address that servers listen on; empty for all.
  """
  key = pathlib.Path(directory, _KEY_FILE).read_bytes()
  client.Client.key = server.Server.key = key
  server.Server.interface = interface
  courier.Server = py_server.Server = server.Server
  courier.Client = courier_client.Client = client.Client
  courier.list_methods = courier_client.list_methods = client.list_methods
  lp.CourierClient = courier_node.CourierClient = client.Client
  # Launchpad wraps each function by this; only Courier's server needs it.
  pybind.BuildPyCallHandler = lambda function: function


def _private(path: str, flags: int) -> int:
  return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)
