"""Batches of rows from replay, as a learner expects them."""

from collections.abc import Iterator

import compat  # noqa: F401

import reverb
import tensorflow as tf

from replay import rows


def batches(
  server_address: str, table: str, layout: rows.RowLayout, batch_size: int
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of samples, whose data are views of the rows.

  Args:
    server_address: of the replay server.
    table: the name of the table.
    layout: of its rows.
    batch_size: the number of samples in a batch.
  """
  dataset = reverb.TrajectoryDataset.from_table_signature(
    server_address, table, max_in_flight_samples_per_worker=batch_size
  ).batch(batch_size, drop_remainder=True)
  options = tf.data.Options()
  options.threading.private_threadpool_size = 1
  options.autotune.enabled = False
  for sample in dataset.with_options(options).as_numpy_iterator():
    yield reverb.ReplaySample(sample.info, layout.unpack(sample.data))
