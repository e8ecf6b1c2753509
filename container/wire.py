"""Reverb's messages, written and read without copying their payload.

Reverb's own clients compress each leaf with snappy and copy it several times.
A snappy stream may also hold its data verbatim, and that is what `encode_leaf`
writes: every Reverb client can read it, nobody spends time on compressing
weights (which do not compress), and reading is taking a view.

The field numbers are those of Reverb 0.7's `reverb_service.proto` and
`schema.proto`, and of TensorFlow's `tensor.proto`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cramjam
import numpy as np
from reverb.cc import schema_pb2

# Protobuf can hold no message of 2 GiB; leave room for the headers around one.
MAX_LEAF_BYTES = 2**31 - 2**16

# Each chunk is a message of its own, which costs as much as a megabyte does.
_CHUNK_BYTES = 2**20

# What the tag byte of a snappy literal says of the length which follows it.
_LITERAL_OF_4_BYTE_LENGTH = 0xFC
_LENGTH_DELIMITED = 2


class WireLeaf(NamedTuple):
  """One tensor of a sample; `data` is its memory, `dtype` TensorFlow's enum."""

  dtype: int
  shape: tuple[int, ...]
  data: memoryview


class Item(NamedTuple):
  """What a sample says of itself before its payload follows."""

  key: int
  priority: float
  inserted_at: float
  chunk_slices: tuple[tuple[int, int, int], ...]


def varint(value: int) -> bytes:
  """Encodes an unsigned integer as protobuf and snappy do."""
  out = bytearray()
  while value > 0x7F:
    out.append(value & 0x7F | 0x80)
    value >>= 7
  out.append(value)
  return bytes(out)


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
  value = shift = 0
  while True:
    byte = view[at]
    value |= (byte & 0x7F) << shift
    at += 1
    if byte < 0x80:
      return value, at
    shift += 7


def field(number: int, length: int) -> bytes:
  """The header of a field which holds `length` bytes."""
  return varint(number << 3 | _LENGTH_DELIMITED) + varint(length)


def fields(view: memoryview) -> Iterator[tuple[int, int | memoryview]]:
  """Yields (number, value) of every field of a message, without copying."""
  at = 0
  while at < len(view):
    tag, at = _read_varint(view, at)
    number, kind = tag >> 3, tag & 7
    if kind == 0:
      value, at = _read_varint(view, at)
      yield number, value
      continue
    if kind == _LENGTH_DELIMITED:
      length, at = _read_varint(view, at)
    else:
      length = {1: 8, 5: 4}[kind]
    yield number, view[at : at + length]
    at += length


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
    snappy += bytes([_LITERAL_OF_4_BYTE_LENGTH])
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


def decode_server_info(
  data: bytes,
) -> tuple[bytes, dict[str, schema_pb2.TableInfo]]:
  """Reads a `ServerInfoResponse`.

  Returns:
    The server's identity, drawn anew at each start, and its tables.
  """
  identity, tables = b'', {}
  for number, value in fields(memoryview(data)):
    if number == 1:
      identity = bytes(value)
    elif number == 2:
      table = schema_pb2.TableInfo.FromString(bytes(value))
      tables[table.name] = table
  return identity, tables


def _decode_item(data: memoryview) -> Item:
  item = schema_pb2.SampleInfo.FromString(bytes(data)).item
  slices = []
  for column in item.flat_trajectory.columns:
    if len(column.chunk_slices) != 1:
      raise ValueError(
        f'Table {item.table!r} holds a trajectory of several chunks, which no '
        'variable container pushes; give variables a table of their own.'
      )
    part = column.chunk_slices[0]
    slices.append((part.chunk_key, part.index, part.offset))
  inserted_at = item.inserted_at.seconds + item.inserted_at.nanos * 1e-9
  return Item(item.key, item.priority, inserted_at, tuple(slices))


class SampleReader:
  """Gathers the responses of one `SampleStream` into one item's leaves."""

  def __init__(self):
    self.item: Item | None = None
    self._chunks: dict[int, list[memoryview]] = {}

  def feed(self, response: bytes) -> None:
    for number, entry in fields(memoryview(response)):
      if number != 1:
        continue
      for part, value in fields(entry):
        if part == 1:
          self.item = _decode_item(value)
        elif part == 2:
          self._add_chunk(value)

  def _add_chunk(self, chunk: memoryview) -> None:
    key, tensors = 0, []
    for number, value in fields(chunk):
      if number == 1:
        key = value
      elif number == 5:
        tensors = [tensor for part, tensor in fields(value) if part == 1]
    self._chunks[key] = tensors

  def leaves(self) -> list[WireLeaf]:
    """The item's leaves, in the order of the table's signature."""
    return [
      _decode_leaf(self._chunks[key][index], offset)
      for key, index, offset in self.item.chunk_slices
    ]


def _decode_leaf(tensor: memoryview, offset: int) -> WireLeaf:
  dtype, shape, content = 0, [], memoryview(b'\0')
  for number, value in fields(tensor):
    if number == 1:
      dtype = value
    elif number == 2:
      for part, dim in fields(value):
        if part == 2:
          shape.append(dict(fields(dim)).get(1, 0))
    elif number == 4:
      content = value
  data = _uncompress(content)
  steps = max(1, shape[0])
  step = len(data) // steps
  return WireLeaf(
    dtype, tuple(shape[1:]), data[offset * step : (offset + 1) * step]
  )


def _uncompress(content: memoryview) -> memoryview:
  length, at = _read_varint(content, 0)
  if length == 0:
    return content[:0]
  if content[at] == _LITERAL_OF_4_BYTE_LENGTH:
    literal = int.from_bytes(content[at + 1 : at + 5], 'little') + 1
    if literal == length:
      return content[at + 5 :]
  return memoryview(cramjam.snappy.decompress_raw(content)).cast('B')
