"""Ways to move weights, behind one interface, so one loop times them all.

A peer's three parts run in processes of their own: `serve` once, one `Pusher`,
many `Reader`s.
"""

import abc
import socket
from collections.abc import Callable
from typing import Any

import courier
import numpy as np
import reverb
import tensorflow as tf

import container

Nest = dict[str, np.ndarray]


class Peer(abc.ABC):
  """One way to move weights.

  Attributes:
    name: As the table prints it.
  """

  name = ''

  def serve(self, values: Nest) -> tuple[str, Any]:
    """Starts a server; returns its address and what to keep alive."""
    server = reverb.Server([container.variable_table(values)])
    return f'127.0.0.1:{server.port}', server

  @abc.abstractmethod
  def pusher(self, address: str, values: Nest) -> Callable[[Nest], None]:
    """Returns a function that pushes."""

  @abc.abstractmethod
  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    """Returns a function that pulls what is newest."""

  def checker(self, address: str, values: Nest) -> Callable[[], Any] | None:
    """Returns a function that asks for news when there are none."""
    del address, values


class Container(Peer):
  """This library, with or without one copy per host."""

  def __init__(self, host_cache: bool):
    self._host_cache = host_cache
    self.name = 'container, ' + ('same host' if host_cache else 'network')
    self._reader = None

  def _connect(self, address: str) -> container.ReverbVariableContainer:
    return container.ReverbVariableContainer(
      address, leaf_type='numpy', host_cache=self._host_cache
    )

  def pusher(self, address: str, values: Nest) -> Callable[[Nest], None]:
    return self._connect(address).push

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    self._reader = self._connect(address)
    return self._reader.pull

  def checker(self, address: str, values: Nest) -> Callable[[], Any]:
    version = self._reader.snapshot().version
    return lambda: self._reader.snapshot(newer_than=version)

  def received(self) -> float:
    """Bytes of payload that came over the wire to this reader."""
    return self._reader.metrics()['wire_bytes_received']


class TfAgents(Peer):
  """The calls that TF-Agents' container makes."""

  name = 'TF-Agents'

  def pusher(self, address: str, values: Nest) -> Callable[[Nest], None]:
    client = reverb.TFClient(address)
    table = tf.constant([container.DEFAULT_TABLE])
    priority = tf.constant([1.0], tf.float64)
    return lambda new: client.insert(
      [tf.constant(leaf) for leaf in tf.nest.flatten(new)], table, priority
    )

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    client = reverb.TFClient(address)
    dtypes = tf.nest.map_structure(lambda x: tf.as_dtype(x.dtype), values)
    return lambda: client.sample(container.DEFAULT_TABLE, [dtypes]).data[0]


class Courier(Peer):
  """Acme's way: every reader asks the learner itself for its variables."""

  name = "Acme's Courier"

  def serve(self, values: Nest) -> tuple[str, Any]:
    with socket.socket() as probe:
      probe.bind(('127.0.0.1', 0))
      port = probe.getsockname()[1]
    server = courier.Server(port=port)
    held = [values]
    server.Bind('get_variables', lambda names: [held[0] for _ in names])
    server.Start()
    return f'127.0.0.1:{port}', (server, held)

  def pusher(self, address: str, values: Nest) -> Callable[[Nest], None]:
    # The learner holds the values: there is nothing to push.
    return lambda new: None

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    client = courier.Client(address)
    return lambda: client.get_variables(['policy'])


PEERS = (
  lambda: Container(host_cache=True),
  lambda: Container(host_cache=False),
  TfAgents,
  Courier,
)


def memcpy_seconds(values: Nest, clock: Callable[[], float]) -> float:
  """Seconds to copy a nest within one process, into memory used before."""
  copies = [leaf.copy() for leaf in values.values()]
  start = clock()
  for copy, leaf in zip(copies, values.values(), strict=True):
    np.copyto(copy, leaf)
  return clock() - start
