"""If any other program answers, a call ends soon with a clear error."""

import random

import numpy as np
import pytest
import tensorflow as tf

import container
from container.client import versions
from reverb_wire import messages, protobuf
from tests.container import fake_server, serialized, servers
from watchdog import servers as watchdog_servers

VALUES = {
  'w': np.arange(6, dtype=np.float32).reshape(2, 3),
  'scalar': np.int64(7),
  'empty': np.zeros((0, 2), np.float64),
  'half': (tf.ones(3, tf.bfloat16), [np.bool_(True)]),
}
ENDLESS = b'\x08' + b'\xff' * 3_000_000
RANDOM = random.Random(20)


@pytest.fixture(scope='module', name='real')
def fixture_real():
  """Returns what a real server answers about a table that holds VALUES."""
  with servers.serving(container.variable_table(VALUES)) as address:
    # A plain client compresses what it pushes; a container does not.
    recorded = []
    for push in (servers.TfAgentsClient(address), connect(address)):
      push.push(VALUES)
      recorded.append(fake_server.record(address, 'variables'))
    return recorded


@pytest.fixture(name='fake')
def fixture_fake(real):
  answers = fake_server.Answers(real[0].info, real[0].sample)
  with fake_server.answering(answers) as address:
    answers.address = address
    yield answers


def connect(address):
  return container.ReverbVariableContainer(
    address, leaf_type='numpy', timeout=5.0, host_cache=False
  )


def mutated(data):
  """Damages bytes in one of several ways."""
  data, at = bytearray(data), RANDOM.randrange(len(data) + 1)
  way = RANDOM.randrange(6)
  if way == 0:
    return bytes(data[:at])
  if way == 1:
    return RANDOM.randbytes(at)
  some = {
    2: RANDOM.randbytes(RANDOM.randrange(1, 9)),
    3: b'\xff' * RANDOM.randrange(1, 12),
    4: protobuf.varint(RANDOM.getrandbits(RANDOM.randrange(1, 64))),
    5: bytes(data[RANDOM.randrange(len(data) + 1) :][:20]),
  }[way]
  cut = RANDOM.choice((0, len(some)))
  return bytes(data[:at] + some + data[at + cut :])


def outcome(address, call):
  """Returns the error of a call, which must be a clear one, or None."""
  try:
    call()
  except (ConnectionError, KeyError, TypeError, ValueError) as error:
    assert address in str(error), repr(error)
    return error
  return None


def test_the_recorded_answers_are_understood(real, fake):
  for answers in real:
    fake.info, fake.sample = answers.info, answers.sample
    pulled = connect(fake.address).pull()
    np.testing.assert_array_equal(pulled['w'], VALUES['w'])
    assert pulled['half'][0].astype(np.float32).tolist() == [1, 1, 1]


def test_damaged_tables_give_clear_errors(real, fake):
  outcomes = []
  for _ in range(300):
    fake.info = mutated(real[0].info)
    outcomes.append(outcome(fake.address, lambda: connect(fake.address)))
  assert len({type(error) for error in outcomes}) > 2


def test_damaged_samples_give_clear_errors(real, fake):
  outcomes = []
  for _ in range(300):
    answers = RANDOM.choice(real)
    fake.info = answers.info
    fake.sample = [mutated(part) for part in answers.sample]
    outcomes.append(outcome(fake.address, connect(fake.address).pull))
  assert len({type(error) for error in outcomes}) > 1


def test_the_watchdog_counts_a_server_of_nonsense_as_silent(real, fake):
  fake.info = real[0].info
  assert watchdog_servers._tables(fake.info)['variables'].max_size == 1
  for _ in range(1000):
    info = mutated(real[0].info)
    try:
      for table in watchdog_servers._tables(info).values():
        table.describe()
        assert table.inserts_missing >= 0 and table.samples_missing >= 0
    except protobuf.MalformedError:
      pass
  fake.info = ENDLESS
  found = watchdog_servers.ask([fake.address])
  assert (found.tables, found.silent) == ({}, {fake.address})


@pytest.mark.parametrize(
  'info',
  [
    ENDLESS,
    b'',
    messages.DIM.encode(size=2**40),
    messages.SERVER_INFO_RESPONSE.field(
      'table_info', messages.TABLE_INFO.encode(name=b'variables')
    ),
    serialized.IDENTITY
    + messages.SERVER_INFO_RESPONSE.field(
      'table_info', messages.TABLE_INFO.encode(name=b'\xff')
    ),
    serialized.IDENTITY
    + messages.SERVER_INFO_RESPONSE.head('table_info', 2**62),
    serialized.IDENTITY + b'\x0f',
  ],
  ids=[
    *('endless', 'empty', 'number', 'no_identity', 'not_utf8'),
    *('claimed_length', 'unknown_type'),
  ],
)
def test_an_answer_that_is_no_server_info_is_a_connection_error(fake, info):
  fake.info = info
  with pytest.raises(ConnectionError, match=fake.address):
    connect(fake.address)


@pytest.mark.parametrize(
  'signature',
  [
    ENDLESS,
    b'',
    serialized.nested_lists(200),
    b'\x62\x04text',
    serialized.tensor_spec(dtype=999),
    serialized.tensor_spec(dtype=1, shape=serialized.dims(*[9] * 9999)),
    serialized.mapping(*[(b'k', serialized.nested_lists(1))] * 2),
  ],
  ids=[
    *('endless', 'empty', 'deep', 'wrong_type', 'dtype', 'dimensions'),
    'twice',
  ],
)
def test_a_broken_signature_is_an_error(fake, signature):
  fake.info = serialized.server_info_response(signature=signature)
  with pytest.raises((TypeError, ValueError), match=fake.address):
    connect(fake.address)


def test_a_described_structure_that_does_not_fit_its_leaves_is_ignored(fake):
  for described in (
    b'text',
    b'[' * 100_000,
    b'["mapping","m:C",["a"],[["leaf","",[],[],[]]],[]]',
    b'["list","",[[]],[["leaf","",[],[],[]]],[]]',
    b'{"kind": 1}',
    b'["record",":1 2",["x y"],[["leaf","",[],[],[]]],[]]',
  ):
    spec = serialized.tensor_spec(name=b'name\n' + described, dtype=1)
    fake.info = serialized.server_info_response(
      signature=serialized.mapping((b'x y', spec))
    )
    client = connect(fake.address)
    assert client._tables['variables'].table.signature.leaves[0].path == (
      'x y',
    )


@pytest.mark.parametrize(
  'sample',
  [
    [],
    [b''],
    [ENDLESS],
    [
      messages.SAMPLE_STREAM_RESPONSE.field(
        'entries', messages.SAMPLE_ENTRY.field('info', ENDLESS)
      )
    ],
    [serialized.sample_response(b'')],
    [
      serialized.sample_response(
        serialized.item([serialized.column(chunk_key=5)])
      )
    ],
    [serialized.sample_response(serialized.item([b''] * 100_000))],
    [serialized.sample_response(serialized.item([serialized.column()] * 5))],
  ],
  ids=[
    *('none', 'empty', 'endless', 'endless_item', 'no_leaves', 'one_leaf'),
    *('many_leaves', 'missing_chunks'),
  ],
)
def test_an_answer_that_is_no_sample_is_an_error(fake, sample):
  fake.sample = sample
  with pytest.raises((ConnectionError, ValueError), match=fake.address):
    connect(fake.address).pull()


@pytest.mark.parametrize(
  'content',
  [
    protobuf.varint(2**40) + b'\0',
    protobuf.varint(2**31) + b'\xfc\xff\xff\xff\x7f',
    b'\xff' * 12,
    b'',
  ],
  ids=['huge', 'huge_literal', 'endless', 'empty'],
)
def test_a_leaf_of_another_size_than_it_says_is_an_error(fake, content):
  tensor = messages.TENSOR.encode(
    dtype=1, tensor_shape=serialized.dims(1), tensor_content=content
  )
  chunk = messages.CHUNK_DATA.encode(
    chunk_key=3, data=messages.TENSORS.field('tensors', tensor) * 5
  )
  fake.sample = [
    serialized.sample_response(
      serialized.item([serialized.column(chunk_key=3)] * 5), chunk
    )
  ]
  with pytest.raises(ValueError, match=fake.address):
    connect(fake.address).pull()


def test_a_push_that_the_server_does_not_confirm_is_an_error(fake):
  client = connect(fake.address)
  with pytest.raises(ConnectionError, match=f'{fake.address}.*no answer'):
    client.push(VALUES)


def test_servers_that_keep_changing_give_an_error(fake, real, monkeypatch):
  class Changing(fake_server.Answers):
    @property
    def info(self):
      identity = messages.SERVER_INFO_RESPONSE.field(
        'tables_state_id', RANDOM.randbytes(8)
      )
      return real[0].info + identity

    @info.setter
    def info(self, value):
      pass

  with fake_server.answering(Changing(sample=real[0].sample)) as address:
    client = container.ReverbVariableContainer(
      address, timeout=0.3, host_cache=False
    )
    with pytest.raises(ConnectionError, match=f'kept coming.*{address}'):
      client.pull()


def test_a_priority_that_is_no_whole_number_is_no_version():
  for priority in (float('nan'), float('inf'), -float('inf'), 1e308):
    assert versions.decode(priority) is None
