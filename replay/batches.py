"""Batches of packed items from replay, as a learner expects them."""

from collections.abc import Callable, Iterator
from typing import Any

import compat  # noqa: F401

import reverb
import tensorflow as tf


def batches(
  server_address: str,
  table: str,
  unpack: Callable[[Any], Any],
  batch_size: int,
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of samples.

  Args:
    server_address: the address of the replay server.
    table: the name of the table.
    unpack: makes the learner's data, a nest of arrays, from a batch of items.
    batch_size: the number of samples in a batch.
  """
  dataset = reverb.TrajectoryDataset.from_table_signature(
    server_address, table, max_in_flight_samples_per_worker=batch_size
  ).batch(batch_size, drop_remainder=True)
  options = tf.data.Options()
  options.threading.private_threadpool_size = 1
  options.autotune.enabled = False
  for sample in dataset.with_options(options).as_numpy_iterator():
    yield reverb.ReplaySample(sample.info, unpack(sample.data))
