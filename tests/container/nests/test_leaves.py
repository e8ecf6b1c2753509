"""Leaves of every kind, through a real server."""

import threading

import compat  # noqa: F401

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import container
from tests.container import servers

DTYPES = (
  *('bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32'),
  *('uint64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64'),
)


@pytest.mark.parametrize('leaf_type', ['numpy', 'tensorflow', 'jax'])
def test_every_dtype_arrives(leaf_type):
  values = {
    name: np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name, name))
    for name in DTYPES
  }
  pulled = servers.transfer(values, leaf_type)
  for name in DTYPES:
    leaf = pulled[name]
    if leaf_type == 'tensorflow':
      assert leaf.dtype == tf.as_dtype(name)
      leaf = tf.cast(leaf, tf.complex128)
    elif leaf_type == 'jax':
      assert leaf.dtype == jax.dtypes.canonicalize_dtype(values[name].dtype)
    else:
      assert leaf.dtype == values[name].dtype
    np.testing.assert_array_equal(
      np.asarray(leaf).astype(np.complex128), values[name].astype(np.complex128)
    )


def test_every_kind_of_leaf_arrives():
  whole = np.arange(24.0).reshape(4, 6)
  frozen = np.arange(3)
  frozen.flags.writeable = False
  values = {
    'scalar': np.float32(1.5),
    'empty': np.zeros((0, 3), np.float32),
    'strided': whole[::2, ::3],
    'fortran': np.asfortranarray(whole),
    'read_only': frozen,
    'jax': jnp.arange(3),
    'jax_bfloat16': jnp.arange(3, dtype=jnp.bfloat16),
    'tensor': tf.range(3),
    'tensor_bfloat16': tf.cast(tf.range(3), tf.bfloat16),
    'variable': tf.Variable([1.0, 2.0]),
  }
  pulled = servers.transfer(values)
  for name, value in values.items():
    wanted = np.asarray(value)
    assert pulled[name].shape == wanted.shape
    np.testing.assert_array_equal(
      pulled[name].astype(np.float64), wanted.astype(np.float64)
    )


def test_python_scalars_are_cast_to_the_signature():
  spec = {
    'f': tf.TensorSpec((), tf.float32),
    'b': tf.TensorSpec((), tf.bfloat16),
    'i': tf.TensorSpec((), tf.uint8),
    't': tf.TensorSpec((), tf.bool),
  }
  pulled = servers.transfer({'f': 3, 'b': 1.5, 'i': 255, 't': True}, spec=spec)
  assert [pulled[k].dtype.name for k in 'fbit'] == [
    *('float32', 'bfloat16', 'uint8', 'bool')
  ]
  assert [float(pulled[k]) for k in 'fbit'] == [3.0, 1.5, 255.0, 1.0]


def test_leaves_may_be_bfloat16_on_the_wire_and_float32_at_both_ends():
  values = {'x': np.linspace(0, 1, 1000, dtype=np.float32), 'n': np.int32(3)}
  table = container.variable_table(values, wire_dtype='bfloat16')
  pulled = servers.transfer(values, table=table)
  assert pulled['x'].dtype == np.float32
  np.testing.assert_allclose(pulled['x'], values['x'], rtol=2**-8)
  assert pulled['n'] == 3


@pytest.fixture(scope='module', name='client')
def fixture_client():
  spec = {'policy': {'linear': {'w': np.zeros((64, 3), np.float32)}, 'n': 0}}
  with servers.serving(container.variable_table(spec)) as address:
    client = container.ReverbVariableContainer(
      address, leaf_type='numpy', host_cache=False
    )
    client.push(make_values(np.ones((64, 3), np.float32)))
    yield client


def make_values(w, n=1):
  return {'policy': {'linear': {'w': w}, 'n': n}}


INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
  'values, error, message',
  [
    (
      make_values(np.ones((64, 3))),
      INVALID,
      r'policy/linear/w: expected float32\[64, 3\], got float64\[64, 3\]',
    ),
    (
      make_values(np.ones((3, 64), np.float32)),
      INVALID,
      r'policy/linear/w: expected float32\[64, 3\], got float32\[3, 64\]',
    ),
    (make_values(1.0, n=0.5), INVALID, r'policy/linear/w: .*float32\[\]'),
    (
      make_values(np.ones((64, 3), np.float32), n=0.5),
      INVALID,
      'policy/n: expected int32.*scalar 0.5',
    ),
    (
      make_values(np.ones((64, 3), np.float32), n=2**40),
      INVALID,
      'policy/n: expected int32.*scalar',
    ),
    ({'policy': {'linear': {}, 'n': 1}}, INVALID, 'missing: policy/linear/w'),
    (
      make_values(jax.random.key(0)),
      TypeError,
      r'policy/linear/w: this is a typed PRNG key.*key_data',
    ),
    (make_values('text'), TypeError, 'policy/linear/w: a str is not'),
    (
      make_values(np.array([object()])),
      TypeError,
      'policy/linear/w: a ndarray of object',
    ),
  ],
)
def test_a_leaf_that_does_not_fit_is_named_and_changes_nothing(
  client, values, error, message
):
  version = client.version()
  with pytest.raises(error, match=message):
    client.push(values)
  assert client.version() == version
  assert client.pull()['policy']['linear']['w'].sum() == 64 * 3


def test_nan_is_refused_when_asked_for(client):
  values = make_values(np.full((64, 3), np.nan, np.float32))
  with pytest.raises(INVALID, match='policy/linear/w: holds NaN'):
    client.push(values, finite=True)
  assert np.isfinite(client.pull()['policy']['linear']['w']).all()


def test_a_leaf_too_large_for_a_message_is_refused_at_once():
  spec = {'x': tf.TensorSpec([None], tf.uint8)}
  with servers.serving(container.variable_table(spec)) as address:
    client = container.ReverbVariableContainer(
      address, leaf_type='numpy', host_cache=False
    )
    client.push({'x': np.arange(3, dtype=np.uint8)})
    with pytest.raises(ValueError, match='x: it has 2,200,000,000 bytes.*up'):
      # Zeros take no memory until they are touched.
      client.push({'x': np.zeros(2_200_000_000, np.uint8)})
    assert client.version() == 1
    assert client.pull()['x'].tolist() == [0, 1, 2]


@pytest.mark.long
def test_a_nest_larger_than_a_message_arrives():
  size = 750_000_000
  nest = {name: np.zeros(size, np.uint8) for name in 'abc'}
  for n, leaf in enumerate(nest.values()):
    leaf[-1] = n + 1
  with servers.serving(container.variable_table(nest)) as address:
    client = container.ReverbVariableContainer(
      address, leaf_type='numpy', host_cache=False
    )
    client.push(nest)
    pulled = client.pull()
    assert [leaf[-1] for leaf in pulled.values()] == [1, 2, 3]
    assert {leaf.nbytes for leaf in pulled.values()} == {size}


def test_compressed_leaves_of_other_clients_are_understood():
  # Zeros compress, so their stream does not hold them verbatim.
  values = {'x': np.zeros(100_000, np.float32), 'y': np.arange(5)}
  with servers.serving(container.variable_table(values)) as address:
    servers.TfAgentsClient(address).push(values)
    client = container.ReverbVariableContainer(
      address, leaf_type='numpy', host_cache=False
    )
    pulled = client.pull()
    np.testing.assert_array_equal(pulled['x'], values['x'])
    np.testing.assert_array_equal(pulled['y'], values['y'])


def test_threads_share_a_container(client):
  errors = []

  def work():
    try:
      for _ in range(20):
        client.push(make_values(np.ones((64, 3), np.float32)))
        client.pull()
    except Exception as error:
      errors.append(error)

  threads = [threading.Thread(target=work) for _ in range(4)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join(60)
  assert not errors
