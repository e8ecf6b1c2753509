"""A saved state is read back bit by bit, and loading it runs no code."""

import collections
import dataclasses
import pickle

import flax.struct
import haiku as hk
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest
import safetensors.numpy

from nodes.saving import leaves, saved_state
from tests.policies import kept
from tests.programs.data import recordings

_State = collections.namedtuple('_State', ['params', 'optimizer', 'steps'])


@dataclasses.dataclass
class _Plain:
  values: list
  seen: int


@flax.struct.dataclass
class _Flax:
  params: dict
  count: int = flax.struct.field(pytree_node=False)
  apply: object = flax.struct.field(pytree_node=False)


def _again(state, current=None):
  saved = saved_state.from_bytes(saved_state.to_bytes(state, {}))
  return saved.fit(state if current is None else current)


def _assert_same(found, expected):
  is_leaf = dataclasses.is_dataclass
  assert jax.tree_util.tree_structure(
    found, is_leaf=is_leaf
  ) == jax.tree_util.tree_structure(expected, is_leaf=is_leaf)
  one, other = saved_state.flatten(found), saved_state.flatten(expected)
  assert one.keys() == other.keys()
  for path, leaf in other.items():
    if jnp.issubdtype(getattr(leaf, 'dtype', None), jax.dtypes.prng_key):
      one[path], leaf = map(jax.random.key_data, (one[path], leaf))
    if not hasattr(leaf, 'dtype'):
      assert type(one[path]) is type(leaf) and repr(one[path]) == repr(leaf)
      continue
    assert one[path].dtype == leaf.dtype and one[path].shape == leaf.shape
    assert np.asarray(one[path]).tobytes() == np.asarray(leaf).tobytes()


@pytest.mark.parametrize(
  'dtype',
  [
    *('bool', 'int8', 'uint16', 'int64', 'uint64', 'float16', 'float64'),
    *('complex64', 'complex128', 'bfloat16', 'float8_e4m3fn', 'int4'),
  ],
)
def test_arrays_of_every_type_and_shape(dtype):
  dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
  array = np.arange(6).reshape(2, 3).astype(dtype)
  state = [array, array.T, array[:0], array[0, 0], np.asarray(array[1, 2])]
  _assert_same(_again(state), state)


def test_containers_and_leaves_of_every_kind():
  params = {'mlp/~/linear_0': {'w': jnp.full((2, 3), jnp.nan), 'b': np.ones(3)}}
  state = _State(
    hk.data_structures.to_immutable_dict(params),
    optax.chain(optax.clip(1.0), optax.adam(1e-3)).init(params),
    {
      'keys': (jax.random.key(3), jax.random.PRNGKey(4), jax.random.key(5)),
      'generator': np.random.default_rng(1).bit_generator.state,
      'others': [None, True, 7, -0.0, float('inf'), 1j, 'é\n', b'\xff'],
      'scalar': np.int64(3),
      'plain': _Plain([np.zeros(2), _Plain([], 3)], 4),
      'flax': _Flax({'w': jnp.ones(2)}, 5, len),
      'empty': {},
    },
  )
  _assert_same(_again(state), state)
  fresh = dataclasses.replace(state.steps['flax'], count=0)
  assert _again(state.steps['flax'], fresh).count == 5
  assert _again(state.steps['flax'], fresh).apply is len


def test_restored_arrays_can_be_written():
  (array,) = _again([np.zeros(3)])
  array += 1


@pytest.mark.parametrize(
  'agent, env',
  [
    ('sac', 'gym:Pendulum-v1'),
    ('td3', 'gym:Pendulum-v1'),
    ('d4pg', 'gym:Pendulum-v1'),
    ('ppo', 'gym:CartPole-v1'),
    ('dqn', 'gym:CartPole-v1'),
    ('ddqn', 'gym:CartPole-v1'),
    ('impala', 'bsuite:catch/0'),
    ('r2d2', 'bsuite:catch/0'),
    ('bc', 'gym:CartPole-v1'),
    ('value_dice', 'gym:Pendulum-v1'),
    ('ail', 'gym:Pendulum-v1'),
    ('module:tests.programs.agents.own', 'gym:CartPole-v1'),
  ],
)
def test_each_agents_learner(agent, env, tmp_path):
  shown = None
  if agent in ('bc', 'value_dice', 'ail'):
    shown, _ = recordings.record(tmp_path, env, 2)
  config = kept.make_experiment(agent, env, demonstrations=shown)
  state = kept.make_learner(config).save()
  other = kept.make_learner(dataclasses.replace(config, seed=4))
  other.restore(_again(state, other.save()))
  _assert_same(other.save(), state)


class _Bomb:
  def __reduce__(self):
    return (pytest.fail, ('it ran',))


@pytest.mark.parametrize(
  'leaf, expected',
  [
    (_Bomb(), r"a _Bomb at \.params\['x'\]\[0\]"),
    (collections.deque([1]), r"a deque at \.params\['x'\]\[0\]"),
    (np.array([_Bomb()]), r'a ndarray of object at'),
    (print, 'a builtin_function_or_method at'),
  ],
)
def test_a_leaf_that_is_not_a_value_is_refused_and_its_path_named(
  leaf, expected
):
  with pytest.raises(leaves.UnsavableError, match=expected):
    saved_state.to_bytes(_State({'x': [leaf]}, (), 0), {})


@pytest.mark.parametrize(
  'content',
  [
    b'',
    pickle.dumps(_Bomb()),
    b'launchpad-rl checkpoint 1\n' + bytes(32) + pickle.dumps(_Bomb()),
    b'\xff' * 100,
    safetensors.numpy.save({'a': np.zeros(2)}),
    safetensors.numpy.save({}, {'format': 'x'}),
    (2).to_bytes(8, 'little') + b'[]',
  ],
)
def test_other_bytes_are_a_value_error(content):
  with pytest.raises(ValueError):
    saved_state.from_bytes(content)


def test_any_byte_that_changed_is_found():
  content = saved_state.to_bytes({'a': np.arange(3.0), 'b': 7}, {'n': 1})
  for i in range(len(content)):
    changed = bytearray(content)
    changed[i] ^= 1
    try:
      saved = saved_state.from_bytes(bytes(changed))
    except ValueError:
      continue
    # For example, a space that only fills up the header may change.
    assert saved.facts == {'n': 1} and saved.leaves['b'] == 7
    np.testing.assert_array_equal(saved.leaves["['a']"], np.arange(3.0))


def test_planted_leaves_that_are_not_values_are_refused():
  for how in (
    ['array', 'object', [1]],
    ['array', 'V8', [1]],
    ['array', 'float32', [99]],
    ['value', {'x': 1}],
    ['key no_such', 'uint32', [2]],
    ['pickle', 'x', []],
    [],
  ):
    text = f'{{"facts": {{}}, "leaves": {{"a": {how!r}}}}}'.replace("'", '"')
    arrays = {'a': np.zeros(8, np.uint8)}
    digest = saved_state._hash(text, arrays)
    metadata = {'format': saved_state._FORMAT, 'state': text, 'sha256': digest}
    with pytest.raises(ValueError):
      saved_state.from_bytes(safetensors.numpy.save(arrays, metadata))


def _fit(saved, current):
  return saved_state.from_bytes(saved_state.to_bytes(saved, {})).fit(current)


@pytest.mark.parametrize(
  'saved, current, expected',
  [
    (
      {'linear': {'w': np.zeros((2, 4), np.float32)}},
      {'linear': {'w': np.zeros((2, 3), np.float32)}},
      r'linear.*w.*float32\[2, 4\].*float32\[2, 3\]',
    ),
    ({'q': np.zeros(2)}, {'pi': np.zeros(2)}, r"\['pi'\] it has nothing"),
    (
      {'a': 1, 'q': 2},
      {'a': 1},
      r"\['q'\] it has an integer, this one nothing",
    ),
    ({'steps': 7.0}, {'steps': 0}, 'a float.*an integer'),
    ({'a': 'x'}, {'a': None}, 'a text.*None'),
  ],
)
def test_another_agents_state_is_refused_and_its_leaf_named(
  saved, current, expected
):
  with pytest.raises(saved_state.MismatchError, match=expected):
    _fit(saved, current)


def test_a_count_may_have_become_an_array():
  assert _fit({'steps': jnp.int32(7)}, {'steps': 0})['steps'] == 7
  assert _fit({'steps': 7}, {'steps': jnp.int32(0)})['steps'] == 7
