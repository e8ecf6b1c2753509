"""Reading ends at its deadline, however much there is to read."""

import pytest

from reverb_wire import messages, protobuf, server_info, structured_value


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
