"""Reverb's messages, written without compressing their payload.

Reverb's own clients compress each leaf with snappy and copy it several times.
A snappy stream may also hold its data verbatim, and that is what `encode_chunk`
writes: every Reverb client can read it, nobody spends time on compressing
weights (which do not compress), and reading is taking a view.

The field numbers are those of Reverb 0.7's `reverb_service.proto` and
`schema.proto`, and of TensorFlow's `tensor.proto`.
"""

import secrets
from collections.abc import Iterator, Sequence

import numpy as np
from reverb.cc import schema_pb2

# Protobuf can hold no message of 2 GiB; leave room for the headers around one.
MAX_LEAF_BYTES = 2**31 - 2**16

# Each chunk is a message of its own, which costs as much as a megabyte does.
_CHUNK_BYTES = 2**20

# What the tag byte of a snappy literal says of the length which follows it.
LITERAL_OF_4_BYTE_LENGTH = 0xFC
_LENGTH_DELIMITED = 2


def varint(value: int) -> bytes:
  """Encodes an unsigned integer as protobuf and snappy do."""
  out = bytearray()
  while value > 0x7F:
    out.append(value & 0x7F | 0x80)
    value >>= 7
  out.append(value)
  return bytes(out)


def field(number: int, length: int) -> bytes:
  """The header of a field which holds `length` bytes."""
  return varint(number << 3 | _LENGTH_DELIMITED) + varint(length)


def partition(arrays: Sequence[np.ndarray]) -> list[slice]:
  """Groups leaves into chunks: few if they are small, one each if large."""
  parts, start, size = [], 0, 0
  for index, array in enumerate(arrays):
    if index > start and size + array.nbytes > _CHUNK_BYTES:
      parts.append(slice(start, index))
      start, size = index, 0
    size += array.nbytes
  return [*parts, slice(start, len(arrays))]


def _tensor_head(array: np.ndarray, dtype: int) -> bytes:
  """What comes before an array's memory, from the tensor's own header on."""
  length = array.nbytes
  snappy = varint(length)
  if length:
    snappy += bytes([LITERAL_OF_4_BYTE_LENGTH])
    snappy += (length - 1).to_bytes(4, 'little')
  # Reverb's chunks have a leading axis of time: here, one step.
  dims = b''.join(
    field(2, 1 + len(varint(size))) + b'\x08' + varint(size)
    for size in (1, *array.shape)
  )
  tensor = b'\x08' + varint(dtype) + field(2, len(dims)) + dims
  tensor += field(4, len(snappy) + length) + snappy
  return field(1, len(tensor) + length) + tensor


def encode_chunk(
  arrays: Sequence[np.ndarray], dtypes: Sequence[int], key: int, episode: int
) -> list[bytes | memoryview]:
  """An `InsertStreamRequest` with one chunk.

  Args:
    arrays: C-contiguous, of any shape.
    dtypes: TensorFlow's enums of their types.
    key: By which the item refers to the chunk.
    episode: Tells this push from others on the server.

  Returns:
    The serialized request, in parts; the arrays' memory is not copied.
  """
  parts, length = [], 0
  for array, dtype in zip(arrays, dtypes, strict=True):
    parts.append(_tensor_head(array, dtype))
    parts.append(memoryview(array.reshape(-1).view(np.uint8)))
    length += len(parts[-2]) + array.nbytes
  chunk = schema_pb2.ChunkData(chunk_key=key, data_tensors_len=len(arrays))
  chunk.sequence_range.episode_id = episode
  head = chunk.SerializeToString() + field(5, length)
  return [field(1, len(head) + length), head, *parts]


def encode_item(
  table: str, key: int, priority: float, columns: Sequence[tuple[int, int]]
) -> bytes:
  """An `InsertStreamRequest` that puts chunks sent before into a table.

  Protobuf's rule for joined messages lets it follow a chunk in one request.

  Args:
    table: The table's name.
    key: The item's.
    priority: The item's.
    columns: Where each leaf is: its chunk's key and its place there.

  Returns:
    The serialized request.
  """
  item = schema_pb2.PrioritizedItem(key=key, table=table, priority=priority)
  for chunk_key, index in columns:
    column = item.flat_trajectory.columns.add()
    column.chunk_slices.add(chunk_key=chunk_key, length=1, index=index)
  data = item.SerializeToString()
  return field(2, len(data)) + data


def encode_push(
  table: str,
  key: int,
  priority: float,
  arrays: Sequence[np.ndarray],
  dtypes: Sequence[int],
) -> Iterator[bytes]:
  """Yields the `InsertStreamRequest`s that put one item into a table.

  Args:
    table: The table's name.
    key: The item's.
    priority: The item's.
    arrays: Its leaves, C-contiguous, in the order of the signature.
    dtypes: TensorFlow's enums of their types.
  """
  episode = secrets.randbits(63)
  chunks = [(secrets.randbits(63), part) for part in partition(arrays)]
  item = encode_item(
    table,
    key,
    priority,
    [(key, i) for key, part in chunks for i in range(part.stop - part.start)],
  )
  for chunk_key, part in chunks:
    parts = encode_chunk(arrays[part], dtypes[part], chunk_key, episode)
    is_last = part.stop == len(arrays)
    yield b''.join([*parts, item] if is_last else parts)


def encode_sample_request(table: str, wait: float) -> bytes:
  """A `SampleStreamRequest` of one item.

  Args:
    table: The table's name.
    wait: Seconds the server may wait for an item.

  Returns:
    The serialized request.
  """
  name = table.encode()
  timeout = b'\x08' + varint(max(1, int(wait * 1000)))
  return b''.join(
    [
      field(1, len(name)),
      name,
      b'\x10\x01',
      field(3, len(timeout)),
      timeout,
      b'\x20\x01',
    ]
  )
