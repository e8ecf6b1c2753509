"""Has calls between the tasks of a run heard by that run alone.

Launchpad's nodes, and what a program has of its own, call `courier`, which
cannot be told to ask for a key: in the processes of a run, `courier` is what
`call_server` and `call_client` have instead. This is the one file that reaches
into the two libraries for that.
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
  """Makes the key of a run.

  Args:
    directory: the run's own, which nobody else can look into.
  """
  path = os.path.join(directory, _KEY_FILE)
  with open(path, 'wb', opener=_private) as f:
    f.write(secrets.token_bytes())


def install(directory: str, interface: str) -> None:
  """Has `courier` be the run's own in this process.

  Args:
    directory: that of `make_key`.
    interface: the address that servers listen on; empty for all.
  """
  key = pathlib.Path(directory, _KEY_FILE).read_bytes()
  client.Client.key = server.Server.key = key
  server.Server.interface = interface
  courier.Server = py_server.Server = server.Server
  courier.Client = courier_client.Client = client.Client
  courier.list_methods = courier_client.list_methods = client.list_methods
  lp.CourierClient = courier_node.CourierClient = client.Client
  # Launchpad wraps each function by it, for Courier's own server.
  pybind.BuildPyCallHandler = lambda function: function


def _private(path: str, flags: int) -> int:
  return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)
