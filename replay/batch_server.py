"""Makes a learner's batches in the replay server's process.

There a sample is not sent by gRPC, so it takes half the CPU time; see
`benchmarks.data_path`. A learner on the same machine gets the finished batches
through a socket of that machine. Both have a process of their own, so each
survives a kill of the other.
"""

import contextlib
import json
import os
import socket
import struct
import threading

import compat  # noqa: F401

import tree
from absl import logging

from replay import dataset

_REQUEST_SECONDS = 10.0
_MAX_REQUEST_BYTES = 4096
# A learner writes this byte when it has room for a batch.
NEXT = b'n'


def socket_name(server_address: str) -> str:
  """Returns the name of the socket, which belongs to one machine's network.

  Args:
    server_address: the replay server's address, as the learner knows it.
  """
  # Linux keeps names that begin so apart from files. They end with their owner.
  return f'\0launchpad-rl-replay-{server_address}'


def is_own_user(connection: socket.socket) -> bool:
  """Returns whether the process at the other end is the same user's."""
  credentials = connection.getsockopt(
    socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i')
  )
  _, user, _ = struct.unpack('3i', credentials)
  return user == os.getuid()


def serve(server_address: str, port: int) -> None:
  """Serves batches to learners on this machine, until the process ends.

  Args:
    server_address: the replay server's address, as the learner knows it.
    port: the port of the server, which this process runs or will run.
  """
  listener = socket.socket(socket.AF_UNIX)
  try:
    listener.bind(socket_name(server_address))
  except OSError as e:
    # Nothing is lost: a learner that finds no such socket of its own user
    # samples by gRPC.
    logging.warning('Batches are not made in the replay server: %s', e)
    listener.close()
    return
  listener.listen()
  threading.Thread(
    target=_accept, args=(listener, port), name='batches', daemon=True
  ).start()


def _accept(listener: socket.socket, port: int) -> None:
  while True:
    connection, _ = listener.accept()
    threading.Thread(
      target=_serve_learner, args=(connection, port), daemon=True
    ).start()


def _serve_learner(connection: socket.socket, port: int) -> None:
  """Sends batches until the learner ends."""
  with (
    connection,
    connection.makefile('rb') as requests,
    contextlib.suppress(OSError),
  ):
    if not is_own_user(connection):
      return
    connection.settimeout(_REQUEST_SECONDS)
    try:
      request = json.loads(requests.readline(_MAX_REQUEST_BYTES))
      table, batch_size = request['table'], request['batch_size']
    except (ValueError, TypeError, KeyError):  # It is no learner.
      return
    connection.settimeout(None)
    batches = dataset.batches(f'localhost:{port}', table, batch_size)
    is_first = True
    while requests.read(1) == NEXT:
      leaves = tree.flatten(next(batches))
      if is_first:
        layout = [(leaf.dtype.str, leaf.shape) for leaf in leaves]
        connection.sendall(json.dumps(layout).encode() + b'\n')
        is_first = False
      connection.sendall(b''.join(leaves))
