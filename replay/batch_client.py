"""Gets batches from a replay server on the same machine."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import compat  # noqa: F401

import numpy as np
import reverb
import tree

from replay import batch_server


def connect(server_address: str) -> socket.socket | None:
  """Returns a connection, or None if the server is not on this machine.

  Args:
    server_address: the address of the replay server.
  """
  connection = socket.socket(socket.AF_UNIX)
  try:
    connection.connect(batch_server.socket_name(server_address))
  except OSError:
    connection.close()
    return None
  if not batch_server.is_own_user(connection):
    connection.close()
    return None
  return connection


def batches(
  connection: socket.socket, table: str, batch_size: int, signature: Any
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of samples until the server is gone.

  Args:
    connection: what `connect` returned; it is closed at the end.
    table: the name of the table.
    batch_size: the number of samples in a batch.
    signature: the table's signature.
  """
  structure = reverb.ReplaySample(
    reverb.SampleInfo(*reverb.SampleInfo._fields), signature
  )
  request = json.dumps({'table': table, 'batch_size': batch_size})
  with connection, connection.makefile('rb') as stream:
    try:
      connection.sendall(request.encode() + b'\n')
      connection.sendall(batch_server.NEXT)
      layout = json.loads(stream.readline() or '[]')
      while layout:
        leaves = [np.empty(shape, dtype) for dtype, shape in layout]
        for leaf in leaves:
          if stream.readinto(leaf.reshape(-1).view(np.uint8)) < leaf.nbytes:
            return
        yield tree.unflatten_as(structure, leaves)
        connection.sendall(batch_server.NEXT)
    except ConnectionError:
      return
