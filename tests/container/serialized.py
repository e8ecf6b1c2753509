"""Parts of a Reverb server's answers, serialized by hand."""

from reverb_wire import messages

IDENTITY = messages.SERVER_INFO_RESPONSE.field('tables_state_id', b'id')


def server_info_response(**table_fields):
  """Writes the answer of a server that has one table."""
  table = messages.TABLE_INFO.encode(
    name=b'variables', max_size=1, **table_fields
  )
  return IDENTITY + messages.SERVER_INFO_RESPONSE.field('table_info', table)


def tensor_spec(**fields):
  """Writes a signature that consists of one spec."""
  spec = messages.TENSOR_SPEC.encode(**fields)
  return messages.STRUCTURED_VALUE.field('tensor_spec_value', spec)


def mapping(*pairs):
  """Writes a signature that is a dict of these keys and values."""
  fields = b''.join(
    messages.DICT_VALUE.field(
      'fields', messages.PAIR_VALUE.encode(key=key, value=value)
    )
    for key, value in pairs
  )
  return messages.STRUCTURED_VALUE.field('dict_value', fields)


def nested_lists(depth):
  """Writes a signature of lists in lists."""
  content = b''
  for _ in range(depth):
    content = messages.STRUCTURED_VALUE.field(
      'list_value', messages.LIST_VALUE.field('values', content)
    )
  return content


def dims(*sizes):
  return b''.join(
    messages.TENSOR_SHAPE.field('dim', messages.DIM.encode(size=size))
    for size in sizes
  )


def sample_response(item, data=b''):
  """Writes the response with an item and, if it has one, its chunk."""
  info = messages.SAMPLE_INFO.field('item', item)
  entry = messages.SAMPLE_ENTRY.field('info', info)
  if data:
    entry += messages.SAMPLE_ENTRY.field('data', data)
  return messages.SAMPLE_STREAM_RESPONSE.field('entries', entry)


def item(columns):
  """Writes an item of these serialized columns."""
  trajectory = b''.join(
    messages.FLAT_TRAJECTORY.field('columns', column) for column in columns
  )
  return messages.PRIORITIZED_ITEM.field('flat_trajectory', trajectory)


def column(**fields):
  """Writes a column of one slice."""
  return messages.COLUMN.field(
    'chunk_slices', messages.CHUNK_SLICE.encode(**fields)
  )
