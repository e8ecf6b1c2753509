"""Batches of packed items from replay, as a learner expects them."""

import time
from collections.abc import Iterator
from typing import Any

import compat  # noqa: F401

import reverb

from replay import batch_client, dataset, sequence_layout, transition_layout

_RETRY_SECONDS = 0.1


def batches(
  server_address: str,
  table: str,
  layout: transition_layout.TransitionLayout | sequence_layout.SequenceLayout,
  batch_size: int,
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of samples.

  Args:
    server_address: the address of the replay server.
    table: the name of the table.
    layout: how an item lies in the table.
    batch_size: the number of samples in a batch.
  """
  for sample in _packed(server_address, table, layout.signature, batch_size):
    yield reverb.ReplaySample(sample.info, layout.unpack(sample.data))


def _packed(
  server_address: str, table: str, signature: Any, batch_size: int
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of packed samples, and outlives a restart of the server."""
  client = reverb.Client(server_address)
  while True:
    _wait_for_server(client)
    connection = batch_client.connect(server_address)
    if connection is None:
      break
    is_first = True
    for sample in batch_client.batches(
      connection, table, batch_size, signature
    ):
      is_first = False
      yield sample
    # A server that gave no batch has an error, which gRPC will show.
    if is_first:
      break
  yield from dataset.batches(server_address, table, batch_size)


def _wait_for_server(client: reverb.Client) -> None:
  """Waits until there is a server; the launcher restarts one that was lost."""
  while True:
    try:
      client.server_info()
      return
    except RuntimeError:  # The server was lost during the call.
      time.sleep(_RETRY_SECONDS)
