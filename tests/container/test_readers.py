"""Every reader gets the same from a container's push and from TF-Agents'."""

import numpy as np
import pytest
import reverb
import tensorflow as tf

import container
from tests.container import servers

TABLE = container.DEFAULT_TABLE
VALUES = {
  'vector': np.arange(3, dtype=np.float32),
  'scalar': np.int64(7),
  'empty': np.zeros((0, 2), np.float64),
  # Larger than a chunk, so that the leaves are spread over several.
  'large': [np.full((2, 400_000), n, np.float32) for n in (1, 2)],
  'flag': (np.bool_(True),),
}


def sample(address, **options):
  return next(iter(reverb.Client(address).sample(TABLE, **options)))


def timesteps(address):
  (step,) = sample(address)
  return step.data


def timesteps_as_signature(address):
  (step,) = sample(address, unpack_as_table_signature=True)
  return step.data


def trajectory(address):
  return sample(address, emit_timesteps=False).data


def tf_client(address):
  specs = reverb.Client(address).server_info()[TABLE].signature
  dtypes = tf.nest.map_structure(lambda spec: spec.dtype, specs)
  return reverb.TFClient(address).sample(TABLE, [dtypes]).data


def first(dataset):
  return next(iter(dataset)).data


def tf_client_dataset(address):
  specs = reverb.Client(address).server_info()[TABLE].signature
  return first(
    reverb.TFClient(address).dataset(
      TABLE,
      tf.nest.map_structure(lambda spec: spec.dtype, specs),
      tf.nest.map_structure(lambda spec: spec.shape, specs),
      capacity=1,
    )
  )


def timestep_dataset(address):
  return first(reverb.TimestepDataset.from_table_signature(address, TABLE, 1))


def trajectory_dataset(address):
  specs = tf.nest.flatten(reverb.Client(address).server_info()[TABLE].signature)
  return first(
    reverb.TrajectoryDataset(
      address,
      TABLE,
      dtypes=[spec.dtype for spec in specs],
      shapes=[tf.TensorShape([1]).concatenate(spec.shape) for spec in specs],
      max_in_flight_samples_per_worker=1,
    )
  )


def trajectory_dataset_from_signature(address):
  return first(reverb.TrajectoryDataset.from_table_signature(address, TABLE, 1))


TF_READERS = (
  *(tf_client, tf_client_dataset, timestep_dataset),
  *(trajectory_dataset, trajectory_dataset_from_signature),
)
READERS = (timesteps, timesteps_as_signature, trajectory, *TF_READERS)


def outcome(read, address):
  """Returns what a reader got, or the type of its error."""
  try:
    found = read(address)
  except (tf.errors.OpError, TypeError, ValueError) as error:
    return type(error)
  return tf.nest.map_structure(np.asarray, found)


def read_both(values, read):
  """Returns what a reader gets of a TF-Agents client's push, and of ours."""
  with servers.serving(container.variable_table(values)) as address:
    servers.TfAgentsClient(address).push(values)
    theirs = outcome(read, address)
    client = container.ReverbVariableContainer(address, host_cache=False)
    client.push(values)
    client.close()
    return theirs, outcome(read, address)


def assert_alike(theirs, ours):
  tf.nest.assert_same_structure(theirs, ours)
  pairs = zip(tf.nest.flatten(theirs), tf.nest.flatten(ours), strict=True)
  for a, b in pairs:
    if isinstance(a, type):
      assert a is b
    else:
      assert (a.dtype, a.shape) == (b.dtype, b.shape)
      np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize('read', READERS)
def test_a_reader_gets_the_same_from_both_pushes(read):
  assert_alike(*read_both(VALUES, read))


@pytest.mark.parametrize('read', TF_READERS)
def test_bfloat16_reads_the_same(read):
  values = {'b': tf.constant([1.0, 2.0, 3.0], tf.bfloat16)}
  assert_alike(*read_both(values, read))
