"""A sampler of packed items, as a dataset of TensorFlow."""

from collections.abc import Iterator

import compat  # noqa: F401

import reverb
import tensorflow as tf


def batches(
  server_address: str, table: str, batch_size: int
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of samples as NumPy arrays; it waits for the server.

  Args:
    server_address: the address of the replay server.
    table: the name of the table.
    batch_size: the number of samples in a batch.
  """
  dataset = reverb.TrajectoryDataset.from_table_signature(
    server_address, table, max_in_flight_samples_per_worker=batch_size
  ).batch(batch_size, drop_remainder=True)
  options = tf.data.Options()
  options.threading.private_threadpool_size = 1
  options.autotune.enabled = False
  return dataset.with_options(options).as_numpy_iterator()
