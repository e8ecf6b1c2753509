"""A container does what TF-Agents documents of `ReverbVariableContainer`."""

import numpy as np
import pytest
import tensorflow as tf

import container
from tests.container import servers

SPEC = {
  container.TRAIN_STEP_KEY: tf.TensorSpec((), tf.int64),
  container.POLICY_KEY: [
    tf.TensorSpec((2, 3), tf.float32),
    (tf.TensorSpec((3,), tf.float32),),
  ],
}


def make_values(step):
  return {
    container.TRAIN_STEP_KEY: tf.constant(step, tf.int64),
    container.POLICY_KEY: [
      tf.fill((2, 3), float(step)),
      (tf.fill((3,), -float(step)),),
    ],
  }


def make_variables():
  return tf.nest.map_structure(
    lambda spec: tf.Variable(tf.zeros(spec.shape, spec.dtype)), SPEC
  )


def assert_same(found, wanted):
  tf.nest.assert_same_structure(found, wanted, check_types=False)
  for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.fixture(scope='module', name='address')
def fixture_address():
  with servers.serving(
    servers.table(SPEC),
    servers.table(SPEC, 'second'),
    servers.table(None, 'unsigned'),
    servers.table(SPEC, 'large', max_size=2),
  ) as address:
    yield address


@pytest.fixture(name='variables')
def fixture_variables(address):
  client = container.ReverbVariableContainer(address)
  yield client
  client.close()


def test_names_are_those_of_tf_agents():
  assert container.DEFAULT_TABLE == 'variables'
  assert container.TRAIN_STEP_KEY == 'train_step'
  assert container.POLICY_KEY == 'policy_variables'


def test_the_default_is_one_table_named_variables(address):
  client = container.ReverbVariableContainer(address)
  client.push(make_values(1))
  assert_same(client.pull('variables'), make_values(1))
  client.close()


def test_a_listed_table_that_is_not_on_the_server_is_a_key_error(address):
  with pytest.raises(KeyError, match='no table .absent.*second'):
    container.ReverbVariableContainer(address, ['variables', 'absent'])


def test_a_table_without_a_signature_is_a_type_error(address):
  with pytest.raises(TypeError, match='unsigned.*no signature'):
    container.ReverbVariableContainer(address, ['unsigned'])


def test_a_max_size_other_than_one_is_a_value_error(address):
  with pytest.raises(ValueError, match='large.*max_size 2'):
    container.ReverbVariableContainer(address, ['large'])


def test_pull_gives_nested_tensors(variables):
  variables.push(make_values(2))
  pulled = variables.pull()
  assert all(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(pulled))
  tf.nest.assert_same_structure(pulled, SPEC)
  assert_same(pulled, make_values(2))


def test_push_takes_variables(variables):
  held = make_variables()
  held[container.TRAIN_STEP_KEY].assign(7)
  variables.push(held)
  assert int(variables.pull()[container.TRAIN_STEP_KEY]) == 7


def test_the_last_push_wins(variables):
  variables.push(make_values(3))
  variables.push(make_values(4))
  assert_same(variables.pull(), make_values(4))


def test_tables_are_apart(address):
  client = container.ReverbVariableContainer(address, ('variables', 'second'))
  client.push(make_values(5))
  client.push(make_values(6), table='second')
  assert_same(client.pull('variables'), make_values(5))
  assert_same(client.pull('second'), make_values(6))
  client.close()


@pytest.mark.parametrize('call', ['push', 'pull', 'update'])
def test_a_table_not_named_at_construction_is_a_key_error(variables, call):
  args = {'push': [make_values(1)], 'pull': [], 'update': [make_variables()]}
  with pytest.raises(KeyError, match='second'):
    getattr(variables, call)(*args[call], table='second')


@pytest.mark.parametrize(
  'change',
  [
    {container.TRAIN_STEP_KEY: tf.constant(1, tf.int32)},
    {container.POLICY_KEY: [tf.zeros((2, 3))]},
    {container.POLICY_KEY: {'0': tf.zeros((2, 3)), '1': tf.zeros((3,))}},
    {'more': tf.zeros(())},
  ],
  ids=['dtype', 'missing', 'dict', 'more'],
)
def test_values_unlike_the_signature_leave_the_old_in_place(variables, change):
  variables.push(make_values(8))
  with pytest.raises(tf.errors.InvalidArgumentError):
    variables.push({**make_values(9), **change})
  assert_same(variables.pull(), make_values(8))


def test_lists_and_tuples_are_the_same(variables):
  values = make_values(10)
  first, (second,) = values[container.POLICY_KEY]
  variables.push({**values, container.POLICY_KEY: (first, [second])})
  assert_same(variables.pull(), make_values(10))


def test_update_assigns_to_variables(variables):
  held = make_variables()
  variables.push(make_values(11))
  variables.update(held)
  assert_same(held, make_values(11))


@pytest.mark.parametrize(
  'change',
  [
    {container.TRAIN_STEP_KEY: tf.Variable(1, dtype=tf.int32)},
    {container.POLICY_KEY: [tf.Variable(tf.zeros((2, 3)))]},
    {'more': tf.Variable(0.0)},
  ],
  ids=['dtype', 'missing', 'more'],
)
def test_update_of_other_variables_assigns_none(variables, change):
  held = {**make_variables(), **change}
  variables.push(make_values(12))
  with pytest.raises(ValueError):
    variables.update(held)
  assert not any(np.any(leaf) for leaf in tf.nest.flatten(held)[:1])


def test_a_tf_agents_client_shares_the_server_both_ways(variables, address):
  theirs = servers.TfAgentsClient(address)
  variables.push(make_values(13))
  assert_same(theirs.pull(), make_values(13))
  theirs.push(make_values(14))
  fresh = container.ReverbVariableContainer(address)
  assert_same(fresh.pull(), make_values(14))
  fresh.close()


def test_a_tf_agents_client_reads_a_table_of_variable_table():
  values = {'w': np.ones((2, 2), np.float32), 'b': (np.float64(1),)}
  with servers.serving(container.variable_table(values)) as address:
    ours = container.ReverbVariableContainer(address, leaf_type='numpy')
    theirs = servers.TfAgentsClient(address)
    theirs.push(values)
    assert_same(ours.pull(), values)
    ours.push(values)
    assert_same(theirs.pull(), values)
    ours.close()
