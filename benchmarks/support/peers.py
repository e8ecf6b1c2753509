"""Ways to move weights, with one interface, so that one loop times them all.

The parts of a peer run in separate processes: one server, one pusher, which
stands for the learner, and several readers.
"""

import abc
import importlib.util
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import courier
import jax
import numpy as np
import reverb
import tensorflow as tf

import container

Nest = dict[str, np.ndarray]


def make_values(megabytes: float, leaves: int, seed: int = 0) -> Nest:
  """Returns a nest of random float32 leaves of equal size.

  Args:
    megabytes: the size of all leaves together, in 10^6 bytes.
    leaves: the number of leaves.
    seed: the seed of the random values.
  """
  rng = np.random.default_rng(seed)
  size = int(megabytes * 1e6) // 4 // leaves
  return {
    f'leaf_{i:03d}': rng.standard_normal(size, np.float32)
    for i in range(leaves)
  }


class Peer(abc.ABC):
  """One way to move weights.

  Attributes:
    name: the name in the table.
  """

  name = ''

  def serve(self, values: Nest) -> tuple[str, Any]:
    """Starts a server; returns its address, and an object to keep alive."""
    server = reverb.Server([container.variable_table(values)])
    return f'127.0.0.1:{server.port}', server

  @abc.abstractmethod
  def pusher(self, address: str, values: Nest) -> Callable[[], float | None]:
    """Returns a function that pushes the values as a new version.

    The function returns when readers can get the version. Its result is the
    number of seconds for which the push blocked the learner, or None if that is
    not known.

    Args:
      address: the server's address.
      values: the nest to push.
    """

  @abc.abstractmethod
  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    """Returns a function that pulls the newest version.

    Args:
      address: the server's address.
      values: a nest of the same shapes and dtypes.
    """

  def checker(self) -> Callable[[], Any] | None:  # noqa: B027
    """Returns a function that asks for a newer version.

    The function returns None if there is no newer version. A peer that has no
    versions returns None in place of the function.
    """

  def received(self) -> float | None:  # noqa: B027
    """Returns the bytes that this reader received over the network so far.

    The result is None if they are not counted.
    """


class Container(Peer):
  """This repository's container, with or without the host cache.

  With the host cache, readers map the host's one copy, or copy it to their own
  memory.
  """

  def __init__(self, name: str, host_cache: bool, copies: bool = False):
    self.name = name
    self._host_cache = host_cache
    self._copies = copies
    self._reader = None

  def _connect(self, address: str) -> container.ReverbVariableContainer:
    return container.ReverbVariableContainer(
      address, leaf_type='numpy', host_cache=self._host_cache
    )

  def pusher(self, address: str, values: Nest) -> Callable[[], float]:
    publisher = container.Publisher(self._connect(address))
    # A learner has JAX arrays.
    params = jax.tree_util.tree_map(jax.numpy.asarray, values)

    def push() -> float:
      start = time.monotonic()
      publisher.publish(params)
      blocked = time.monotonic() - start
      publisher.flush()
      return blocked

    return push

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    self._reader = self._connect(address)
    if not self._copies:
      return self._reader.pull
    own = {name: np.empty_like(leaf) for name, leaf in values.items()}

    def pull_and_copy() -> None:
      for name, leaf in self._reader.pull().items():
        np.copyto(own[name], leaf)

    return pull_and_copy

  def checker(self) -> Callable[[], Any]:
    version = self._reader.snapshot().version
    return lambda: self._reader.snapshot(newer_than=version)

  def received(self) -> float:
    return self._reader.metrics()['wire_bytes_received']


class TfAgents(Peer):
  """The calls to Reverb that TF-Agents' container makes."""

  name = 'TF-Agents'

  def pusher(self, address: str, values: Nest) -> Callable[[], float]:
    client = reverb.TFClient(address)
    table = tf.constant([container.DEFAULT_TABLE])
    priority = tf.constant([1.0], tf.float64)

    def push() -> float:
      start = time.monotonic()
      leaves = [tf.constant(leaf) for leaf in tf.nest.flatten(values)]
      client.insert(leaves, table, priority)
      return time.monotonic() - start

    return push

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    client = reverb.TFClient(address)
    dtypes = tf.nest.map_structure(lambda x: tf.as_dtype(x.dtype), values)
    return lambda: client.sample(container.DEFAULT_TABLE, [dtypes]).data[0]


class Courier(Peer):
  """Acme's way: every reader asks the learner for its variables."""

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

  def pusher(self, address: str, values: Nest) -> Callable[[], None]:
    # Nothing is pushed: the learner's process answers the readers' calls.
    return lambda: None

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    client = courier.Client(address)
    return lambda: client.get_variables(['policy'])


class _Holder:
  """A Ray actor that keeps a reference to the newest version."""

  def __init__(self):
    self._ref = []

  def set(self, ref: list) -> None:
    self._ref = ref

  def get(self) -> list:
    return self._ref


class Ray(Peer):
  """Ray's object store: the learner writes, and readers map."""

  name = "Ray's object store"

  def serve(self, values: Nest) -> tuple[str, Any]:
    import ray

    store = 16 * sum(leaf.nbytes for leaf in values.values()) + 200_000_000
    started = ray.init(
      'local',
      num_cpus=os.cpu_count(),
      namespace='weights',
      object_store_memory=store,
      include_dashboard=False,
      log_to_driver=False,
    )
    holder = ray.remote(num_cpus=0)(_Holder).options(name='holder').remote()
    ray.get(holder.get.remote())
    return started['gcs_address'], holder

  def _connect(self, address: str) -> Any:
    import ray

    ray.init(address, namespace='weights', log_to_driver=False)
    return ray, ray.get_actor('holder')

  def pusher(self, address: str, values: Nest) -> Callable[[], float]:
    ray, holder = self._connect(address)

    def push() -> float:
      start = time.monotonic()
      ref = ray.put(values)
      blocked = time.monotonic() - start
      ray.get(holder.set.remote([ref]))
      return blocked

    return push

  def reader(self, address: str, values: Nest) -> Callable[[], Any]:
    ray, holder = self._connect(address)
    return lambda: ray.get(ray.get(holder.get.remote())[0])

  def received(self) -> float:
    return 0.0  # All readers are on the node that stores the object.


MAPPED = 'container, same host'
COPIED = 'container, same host, copied'
NETWORK = 'container, network'

PEERS = (
  lambda: Container(MAPPED, host_cache=True),
  lambda: Container(COPIED, host_cache=True, copies=True),
  lambda: Container(NETWORK, host_cache=False),
  TfAgents,
  Courier,
  *((Ray,) if importlib.util.find_spec('ray') else ()),
)


def memcpy_seconds(values: Nest) -> float:
  """Returns the seconds that a copy to memory already in use takes."""
  copies = [leaf.copy() for leaf in values.values()]
  start = time.monotonic()
  for copy, leaf in zip(copies, values.values(), strict=True):
    np.copyto(copy, leaf)
  return time.monotonic() - start
