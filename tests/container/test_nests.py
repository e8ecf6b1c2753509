"""Nests and leaves as the field uses them, through a real server."""

import collections
import sys
import threading
import types
from typing import Any, NamedTuple

import compat  # noqa: F401

import chex
import flax
import haiku as hk
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest
import tensorflow as tf

import container
from container import structure, structure_json
from tests.container import servers

from acme.jax import running_statistics  # isort: skip


class Pair(NamedTuple):
  b: Any
  a: Any


@chex.dataclass(frozen=True)
class Stats:
  mean: Any
  std: Any


@flax.struct.dataclass
class Agent:
  name: str = flax.struct.field(pytree_node=False)
  params: Any
  apply: Any = flax.struct.field(pytree_node=False, default=None)


PARAMS = {'mlp/~/linear': {'w': jnp.ones((3, 4)), 'b': jnp.arange(4.0)}}
NESTS = {
  'haiku': PARAMS,
  'flat_mapping': hk.data_structures.to_immutable_dict(PARAMS),
  'frozen_dict': flax.core.FrozenDict(PARAMS),
  'ordered': collections.OrderedDict(z=jnp.zeros(2), a=jnp.ones(2)),
  'namedtuple': Pair(b=jnp.zeros(2), a=[jnp.ones(2), (jnp.full(2, 3.0),)]),
  'adam': optax.chain(optax.clip(1.0), optax.adam(1e-3)).init(PARAMS),
  'dataclass': Stats(mean=jnp.zeros(3), std=jnp.ones(3)),
  'normalizer': running_statistics.init_state(
    jax.ShapeDtypeStruct((3,), jnp.float32)
  ),
  'static_fields': Agent(name='sac', params=PARAMS),
  'none': {'x': jnp.ones(2), 'nothing': None, 'empty': {}},
  'root': {'': jnp.ones(2)},
  'int_keys': {10: jnp.zeros(2), 9: jnp.ones(2)},
}
DTYPES = (
  *('bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32'),
  *('uint64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64'),
)


def transfer(value, leaf_type='numpy', spec=None, like=None, table=None):
  """What comes out of a server that `value` was pushed to."""
  table = table or container.variable_table(value if spec is None else spec)
  with servers.serving(table) as address:
    pusher, reader = (
      container.ReverbVariableContainer(
        address, leaf_type=leaf_type, timeout=20.0, host_cache=False
      )
      for _ in range(2)
    )
    pusher.push(value)
    return reader.pull(like=like)


@pytest.mark.parametrize('name', NESTS)
def test_a_reader_gets_the_callers_own_types(name):
  nest = NESTS[name]
  pulled = transfer(nest, 'jax')
  assert type(pulled) is type(nest)
  chex.assert_trees_all_equal_structs(pulled, nest)
  chex.assert_trees_all_equal(pulled, nest)


def test_values_stay_with_their_keys():
  spec = collections.OrderedDict(z=jnp.zeros(()), a=jnp.zeros(()))
  pushed = collections.OrderedDict(a=jnp.ones(()), z=jnp.full((), 26.0))
  pulled = transfer(pushed, spec=spec)
  assert (float(pulled['a']), float(pulled['z'])) == (1.0, 26.0)


def test_a_template_gives_its_types():
  like = flax.core.FrozenDict({'a': 0, 'b': [0]})
  pulled = transfer({'a': np.ones(2), 'b': (np.zeros(3),)}, like=like)
  assert isinstance(pulled, flax.core.FrozenDict)
  assert isinstance(pulled['b'], list)


def test_a_class_unknown_here_is_stood_in_for():
  node, leaves = structure.split(Pair(b=1, a=2))
  text = structure_json.encode(node).replace(__name__, 'not_imported_here')
  far = structure_json.decode(text, leaves)
  rebuilt = structure.rebuild(far, leaves)
  assert (rebuilt.b, rebuilt.a) == (1, 2)
  assert rebuilt._fields == ('b', 'a')


def test_static_fields_that_cannot_travel_come_from_a_template():
  agent = Agent(name='sac', params={'w': np.ones(2, np.float32)}, apply=len)
  assert not isinstance(transfer(agent), Agent)
  assert transfer(agent).params['w'].tolist() == [1, 1]
  like = Agent(name='mine', params={'w': 0}, apply=max)
  pulled = transfer(agent, like=like)
  assert (pulled.name, pulled.apply) == ('mine', max)
  assert pulled.params['w'].tolist() == [1, 1]


def test_a_structure_from_the_wire_makes_only_containers():
  node = structure.Node(
    'mapping', 'subprocess:Popen', ('x',), (structure.LEAF,)
  )
  assert structure.rebuild(node, {('x',): 1}) == {'x': 1}
  record = node._replace(kind='record')
  assert structure.rebuild(record, {('x',): 1})._fields == ('x',)
  abstract = node._replace(type='collections.abc:Mapping')
  assert structure.rebuild(abstract, {('x',): 1}) == {'x': 1}


def test_a_structure_from_the_wire_has_no_module_import_others(monkeypatch):
  asked = []
  lazy = types.ModuleType('lazy')
  lazy.__getattr__ = asked.append
  monkeypatch.setitem(sys.modules, 'lazy', lazy)
  node = structure.Node('mapping', 'lazy:Dict', ('x',), (structure.LEAF,))
  assert structure.rebuild(node, {('x',): 1}) == {'x': 1}
  assert not asked


@pytest.mark.parametrize('leaf_type', ['numpy', 'tensorflow', 'jax'])
def test_every_dtype_comes_through(leaf_type):
  values = {
    name: np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name, name))
    for name in DTYPES
  }
  pulled = transfer(values, leaf_type)
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


def test_every_kind_of_leaf_comes_through():
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
  pulled = transfer(values)
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
  pulled = transfer({'f': 3, 'b': 1.5, 'i': 255, 't': True}, spec=spec)
  assert [pulled[k].dtype.name for k in 'fbit'] == [
    *('float32', 'bfloat16', 'uint8', 'bool')
  ]
  assert [float(pulled[k]) for k in 'fbit'] == [3.0, 1.5, 255.0, 1.0]


def test_bfloat16_on_the_wire_and_float32_at_both_ends():
  values = {'x': np.linspace(0, 1, 1000, dtype=np.float32), 'n': np.int32(3)}
  table = container.variable_table(values, wire_dtype='bfloat16')
  pulled = transfer(values, table=table)
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
      r'policy/linear/w: a typed PRNG key.*key_data',
    ),
    (make_values('text'), TypeError, 'policy/linear/w: a str is not'),
    (
      make_values(np.array([object()])),
      TypeError,
      'policy/linear/w: a ndarray of object',
    ),
  ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(
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
    with pytest.raises(ValueError, match='x: 2,200,000,000 bytes.*up to'):
      # Zeros that nobody touches take no memory.
      client.push({'x': np.zeros(2_200_000_000, np.uint8)})
    assert client.version() == 1
    assert client.pull()['x'].tolist() == [0, 1, 2]


@pytest.mark.long
def test_a_nest_larger_than_a_message_goes_through():
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


def test_snappy_of_other_clients_is_understood():
  # Zeros compress, so this is no verbatim stream.
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
