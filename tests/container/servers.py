"""Servers and clients that the container's tests share."""

import contextlib
import socket
import time

import reverb
import tensorflow as tf

import container


def free_port() -> int:
  with socket.socket() as probe:
    probe.bind(('127.0.0.1', 0))
    return probe.getsockname()[1]


@contextlib.contextmanager
def serving(*tables, port=None):
  """Runs a real server with these tables, and yields its address."""
  server = reverb.Server(list(tables), port=port)
  try:
    yield f'127.0.0.1:{server.port}'
  finally:
    server.stop()


def table(signature, name=container.DEFAULT_TABLE, max_size=1):
  """Makes a table by hand, as a TF-Agents program does."""
  return reverb.Table(
    name,
    sampler=reverb.selectors.Uniform(),
    remover=reverb.selectors.Fifo(),
    max_size=max_size,
    rate_limiter=reverb.rate_limiters.MinSize(1),
    signature=signature,
  )


class TfAgentsClient:
  """Makes the calls that TF-Agents' client makes, by its documentation."""

  def __init__(self, address, name=container.DEFAULT_TABLE):
    self._client = reverb.TFClient(address)
    self._name = name
    signature = reverb.Client(address).server_info()[name].signature
    self._dtypes = tf.nest.map_structure(lambda spec: spec.dtype, signature)

  def push(self, values):
    self._client.insert(
      tf.nest.flatten(values),
      tables=tf.constant([self._name]),
      priorities=tf.constant([1.0], tf.float64),
    )

  def pull(self):
    return self._client.sample(self._name, [self._dtypes]).data[0]


def poll(condition, seconds=20.0):
  """Waits until a condition holds."""
  deadline = time.monotonic() + seconds
  while not condition():
    assert time.monotonic() < deadline, f'It took over {seconds} s.'
    time.sleep(0.01)


def transfer(value, leaf_type='numpy', spec=None, like=None, table=None):
  """Returns what a reader pulls after a pusher has pushed a value.

  Args:
    value: The nest to push.
    leaf_type: The type of the leaves that are pulled.
    spec: What the table is made from; None for the value.
    like: The nest that the reader passes to `pull` as `like`.
    table: The table; None for one made from `spec`.
  """
  table = table or container.variable_table(value if spec is None else spec)
  with serving(table) as address:
    pusher, reader = (
      container.ReverbVariableContainer(
        address, leaf_type=leaf_type, timeout=20.0, host_cache=False
      )
      for _ in range(2)
    )
    pusher.push(value)
    return reader.pull(like=like)
