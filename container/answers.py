"""One item as a Reverb server sends it, read without copying its payload.

The field numbers are those of Reverb 0.7's `reverb_service.proto` and
`schema.proto`, and of TensorFlow's `tensor.proto`.
"""

from typing import NamedTuple

import cramjam

from container import wire
from reverb_wire import protobuf

_PART = memoryview
# No stream of snappy's holds more than so much a byte.
_MOST_COMPRESSED = 32
# NumPy's limit, and Reverb's axis of time.
_MOST_DIMENSIONS = 33


class WireLeaf(NamedTuple):
  """One tensor of a sample; `data` is its memory, `dtype` TensorFlow's enum."""

  dtype: int
  shape: tuple[int, ...]
  data: memoryview


class Slice(NamedTuple):
  """Where a leaf is: a chunk, a tensor in it, and a step of that."""

  chunk: int
  index: int
  step: int


class Item(NamedTuple):
  """What a sample says of itself before its payload follows."""

  key: int
  priority: float
  inserted_at: float
  slices: tuple[Slice, ...]


class SampleReader:
  """Gathers the responses of one `SampleStream` into one item's leaves.

  Attributes:
    item: None before the first response.
  """

  def __init__(self, leaves: int, seconds: float):
    """Has nothing yet.

    Args:
      leaves: How many there are to be.
      seconds: That reading may take.
    """
    self.item: Item | None = None
    self._count = leaves
    self._reader = protobuf.Reader(seconds)
    self._chunks: dict[int, list[memoryview]] = {}

  def feed(self, response: bytes) -> None:
    """Takes the next response.

    Raises:
      MalformedError: it is none, or not of such an item.
    """
    for _, entry in self._reader.fields(response, {1: _PART}):
      for part, value in self._reader.fields(entry, {1: _PART, 2: _PART}):
        if part == 1 and self.item is None:
          self.item = self._read_item(value)
        elif part == 2:
          self._add_chunk(value)
    if self.item is None:
      raise protobuf.MalformedError('a sample does not say what it is')

  def leaves(self) -> list[WireLeaf]:
    """The item's leaves, in the order of the table's signature.

    Raises:
      MalformedError: they are not all there.
    """
    found = []
    for part in self.item.slices:
      tensors = self._chunks.get(part.chunk, ())
      if part.index >= len(tensors):
        raise protobuf.MalformedError('a leaf of the sample is missing')
      found.append(self._read_leaf(tensors[part.index], part.step))
    return found

  def _read_item(self, info: memoryview) -> Item:
    item = self._reader.last(info, {1: _PART}).get(1, b'')
    kinds = {1: int, 5: float, 7: _PART, 8: _PART}
    found = self._reader.last(item, kinds)
    time = self._reader.last(found.get(7, b''), {1: int, 2: int})
    slices = []
    for _, column in self._reader.fields(found.get(8, b''), {1: _PART}):
      slices.append(self._read_column(column))
      if len(slices) > self._count:
        break
    if len(slices) != self._count:
      raise protobuf.MalformedError(
        f'an item has other than {self._count} leaves'
      )
    inserted_at = time.get(1, 0) + time.get(2, 0) * 1e-9
    return Item(found.get(1, 0), found.get(5, 0.0), inserted_at, tuple(slices))

  def _read_column(self, column: memoryview) -> Slice:
    parts = self._reader.fields(column, {1: _PART})
    (_, part), more = next(parts, (1, b'')), next(parts, None)
    if not part or more is not None:
      raise protobuf.MalformedError(
        'an item is a trajectory of several chunks, which no variable '
        'container pushes; give variables a table of their own'
      )
    found = self._reader.last(part, {1: int, 2: int, 4: int})
    return Slice(found.get(1, 0), found.get(4, 0), found.get(2, 0))

  def _add_chunk(self, chunk: memoryview) -> None:
    found = self._reader.last(chunk, {1: int, 5: _PART})
    tensors = []
    for _, tensor in self._reader.fields(found.get(5, b''), {1: _PART}):
      tensors.append(tensor)
      if len(tensors) > self._count:
        raise protobuf.MalformedError('a chunk has more leaves than its item')
    if len(self._chunks) > self._count:
      raise protobuf.MalformedError('a sample has more chunks than leaves')
    self._chunks[found.get(1, 0)] = tensors

  def _read_leaf(self, tensor: memoryview, step: int) -> WireLeaf:
    found = self._reader.last(tensor, {1: int, 2: _PART, 4: _PART})
    shape = []
    for _, dim in self._reader.fields(found.get(2, b''), {2: _PART}):
      shape.append(self._reader.last(dim, {1: int}).get(1, 0))
      if len(shape) > _MOST_DIMENSIONS:
        raise protobuf.MalformedError('a leaf has too many dimensions')
    if not shape or step >= shape[0]:
      raise protobuf.MalformedError('a leaf has not the step it should have')
    data = _uncompress(found.get(4, memoryview(b'\0')))
    size, rest = divmod(len(data), shape[0])
    if rest:
      raise protobuf.MalformedError('a leaf is not made of whole steps')
    return WireLeaf(
      found.get(1, 0),
      tuple(shape[1:]),
      data[step * size : (step + 1) * size],
    )


def _uncompress(content: memoryview) -> memoryview:
  length, at = protobuf.varint(content, 0)
  if length == 0:
    return content[:0]
  if content[at : at + 1] == bytes([wire.LITERAL_OF_4_BYTE_LENGTH]):
    literal = int.from_bytes(content[at + 1 : at + 5], 'little') + 1
    if literal == length == len(content) - at - 5:
      return content[at + 5 :]
  if length > _MOST_COMPRESSED * len(content):
    raise protobuf.MalformedError('a leaf is shorter than it says')
  try:
    data = cramjam.snappy.decompress_raw(content)
  except cramjam.DecompressionError as error:
    raise protobuf.MalformedError(f'a leaf is no snappy ({error})') from error
  return memoryview(data).cast('B')
