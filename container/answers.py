"""What a Reverb server answers, read without copying its payload.

The field numbers are those of Reverb 0.7's `reverb_service.proto` and
`schema.proto`, and of TensorFlow's `tensor.proto`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import cramjam
from reverb.cc import schema_pb2

from container import wire

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


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
  value = shift = 0
  while True:
    byte = view[at]
    value |= (byte & 0x7F) << shift
    at += 1
    if byte < 0x80:
      return value, at
    shift += 7


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
  if content[at] == wire.LITERAL_OF_4_BYTE_LENGTH:
    literal = int.from_bytes(content[at + 1 : at + 5], 'little') + 1
    if literal == length:
      return content[at + 5 :]
  return memoryview(cramjam.snappy.decompress_raw(content)).cast('B')
