"""The containers of nests as the field uses them, through a real server."""

import collections
import sys
import types
from typing import Any, NamedTuple

import compat  # noqa: F401

import chex
import flax
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from acme.jax import running_statistics

from container.nests import structure, structure_json
from tests.container import servers


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


@pytest.mark.parametrize('name', NESTS)
def test_a_reader_gets_the_callers_own_types(name):
  nest = NESTS[name]
  pulled = servers.transfer(nest, 'jax')
  assert type(pulled) is type(nest)
  chex.assert_trees_all_equal_structs(pulled, nest)
  chex.assert_trees_all_equal(pulled, nest)


def test_values_stay_with_their_keys():
  spec = collections.OrderedDict(z=jnp.zeros(()), a=jnp.zeros(()))
  pushed = collections.OrderedDict(a=jnp.ones(()), z=jnp.full((), 26.0))
  pulled = servers.transfer(pushed, spec=spec)
  assert (float(pulled['a']), float(pulled['z'])) == (1.0, 26.0)


def test_a_template_gives_the_types():
  like = flax.core.FrozenDict({'a': 0, 'b': [0]})
  pulled = servers.transfer({'a': np.ones(2), 'b': (np.zeros(3),)}, like=like)
  assert isinstance(pulled, flax.core.FrozenDict)
  assert isinstance(pulled['b'], list)


def test_a_namedtuple_takes_the_place_of_an_unknown_class():
  node, leaves = structure.split(Pair(b=1, a=2))
  text = structure_json.encode(node).replace(__name__, 'not_imported_here')
  far = structure_json.decode(text, leaves)
  rebuilt = structure.rebuild(far, leaves)
  assert (rebuilt.b, rebuilt.a) == (1, 2)
  assert rebuilt._fields == ('b', 'a')


def test_static_fields_that_cannot_travel_come_from_a_template():
  agent = Agent(name='sac', params={'w': np.ones(2, np.float32)}, apply=len)
  assert not isinstance(servers.transfer(agent), Agent)
  assert servers.transfer(agent).params['w'].tolist() == [1, 1]
  like = Agent(name='mine', params={'w': 0}, apply=max)
  pulled = servers.transfer(agent, like=like)
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


def test_a_structure_from_the_wire_makes_no_module_import_others(monkeypatch):
  asked = []
  lazy = types.ModuleType('lazy')
  lazy.__getattr__ = asked.append
  monkeypatch.setitem(sys.modules, 'lazy', lazy)
  node = structure.Node('mapping', 'lazy:Dict', ('x',), (structure.LEAF,))
  assert structure.rebuild(node, {('x',): 1}) == {'x': 1}
  assert not asked
