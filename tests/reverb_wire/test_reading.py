"""Reading ends at its deadline, however much there is to read."""

import numpy as np
import pytest

from reverb_wire import (
  inserts,
  messages,
  protobuf,
  samples,
  server_info,
  structured_value,
)


def sample_of(arrays):
  """Returns a server's response to a request for an item with these leaves."""
  request = b''.join(
    inserts.encode_insert(inserts.Item('t', 7, 1.5), arrays, [1] * len(arrays))
  )
  fields = protobuf.Reader(60.0).fields(request, messages.INSERT_STREAM_REQUEST)
  parts = {name: bytes(value) for name, value in fields}
  info = messages.SAMPLE_INFO.field('item', parts['item'])
  entry = messages.SAMPLE_ENTRY.encode(info=info, data=parts['chunks'])
  return messages.SAMPLE_STREAM_RESPONSE.field('entries', entry)


def test_leaves_of_the_same_size_keep_their_shapes_and_their_places():
  # The reader remembers what the last item of a size looked like.
  shapes = [[(2, 6), (3, 4), ()], [(3, 4), (2, 6), ()], [(4, 3), (12,), ()]]
  for step, item in enumerate([*shapes, *shapes]):
    arrays = [
      np.full(shape, 10 * step + i, np.float32) for i, shape in enumerate(item)
    ]
    reader = samples.SampleReader(len(arrays), 60.0)
    reader.feed(sample_of(arrays))
    leaves = reader.leaves()
    assert [leaf.shape for leaf in leaves] == item
    for leaf, array in zip(leaves, arrays, strict=True):
      assert bytes(leaf.data) == array.tobytes()


def test_reading_tables_ends_at_the_deadline():
  table = messages.TABLE_INFO.encode(name=b't')
  response = messages.SERVER_INFO_RESPONSE.encode(tables_state_id=b'id')
  response += messages.SERVER_INFO_RESPONSE.field('table_info', table) * 5000
  assert server_info.read(response, 60.0).tables.keys() == {'t'}
  with pytest.raises(protobuf.MalformedError, match='longer than 0 s'):
    server_info.read(response, 0.0)


def test_reading_a_signature_ends_at_the_deadline():
  spec = messages.STRUCTURED_VALUE.field(
    'tensor_spec_value', messages.TENSOR_SPEC.encode(dtype=1)
  )
  leaves = messages.LIST_VALUE.field('values', spec) * 5000
  signature = messages.STRUCTURED_VALUE.field('list_value', leaves)
  value = structured_value.read(memoryview(signature), 60.0)
  assert len(value.children) == 5000
  with pytest.raises(protobuf.MalformedError, match='longer than 0 s'):
    structured_value.read(memoryview(signature), 0.0)
