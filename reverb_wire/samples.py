"""Asks a server for one item, and reads it without copying its payload."""

from typing import NamedTuple

from reverb_wire import messages, protobuf, snappy

# NumPy's limit, and one more for Reverb's axis of time.
_MAX_DIMENSIONS = 33
# What stands before the data of a leaf, by the leaf's size on the wire. Each
# pull has the same leaves again, which need not be taken apart again. A broken
# server must not fill the memory with others.
_heads: dict[int, 'Head'] = {}
_MAX_HEADS, _MAX_HEAD_BYTES = 10_000, 1000
# In the same way, where the leaves of an item are, by the size of that list.
_places: dict[int, 'Places'] = {}
_MAX_PLACES, _MAX_PLACES_BYTES = 100, 100_000
# Bytes of a chunk's key, so many that they occur nowhere else in the list.
_LEAST_KEY_BYTES = 8


class Leaf(NamedTuple):
  """One tensor of an item.

  Attributes:
    dtype: TensorFlow's number for its type.
    shape: The size of each dimension, without Reverb's axis of time.
    data: Its elements as bytes, in C order.
  """

  dtype: int
  shape: tuple[int, ...]
  data: memoryview


class Head(NamedTuple):
  """What stands before the data of a leaf that is sent verbatim.

  Attributes:
    content: The bytes.
    dtype: The leaf's `dtype`, which they say.
    shape: The leaf's `shape`, which they say.
  """

  content: bytes
  dtype: int
  shape: tuple[int, ...]


class Slice(NamedTuple):
  """Where a leaf is in the chunks of a sample.

  Attributes:
    chunk_key: The key of its chunk.
    index: The index of its tensor in the chunk.
    step: The index of its step on the tensor's axis of time.
  """

  chunk_key: int
  index: int
  step: int


class Places(NamedTuple):
  """A list that says where the leaves of an item are: all in one chunk.

  Attributes:
    content: The bytes of the list.
    key: The bytes of the chunk's key in it.
    slices: The list's content.
  """

  content: bytes
  key: bytes
  slices: tuple[Slice, ...]


class Item(NamedTuple):
  """The header of a sample, which comes before the payload.

  Attributes:
    key: The item's key, drawn by its pusher.
    priority: The item's priority.
    inserted_at: When the server received it, in seconds since the epoch.
    slices: Where its leaves are, in the order of the table's signature.
  """

  key: int
  priority: float
  inserted_at: float
  slices: tuple[Slice, ...]


def encode_request(table_name: str, wait: float) -> bytes:
  """Writes a `SampleStreamRequest` that asks for one item.

  Args:
    table_name: The table's name.
    wait: How many seconds the server may wait for an item.

  Returns:
    The serialized request.
  """
  milliseconds = max(1, int(wait * 1000))
  return messages.SAMPLE_STREAM_REQUEST.encode(
    table=table_name.encode(),
    num_samples=1,
    rate_limiter_timeout=messages.TIMEOUT.encode(milliseconds=milliseconds),
    flexible_batch_size=1,
  )


class SampleReader:
  """Gathers the responses to one request into one item.

  Attributes:
    item: The sample's header; None before the first response.
  """

  def __init__(self, leaf_count: int, seconds: float):
    """Starts without any response.

    Args:
      leaf_count: How many leaves the item must have.
      seconds: The seconds that reading may take.
    """
    self.item: Item | None = None
    self._leaf_count = leaf_count
    self._reader = protobuf.Reader(seconds)
    self._chunks: dict[int, list[memoryview]] = {}

  def feed(self, response: bytes) -> None:
    """Takes the next response.

    Raises:
      MalformedError: the response is malformed, or its item does not fit.
    """
    for _, entry in self._reader.fields(
      response, messages.SAMPLE_STREAM_RESPONSE
    ):
      for name, value in self._reader.fields(entry, messages.SAMPLE_ENTRY):
        if name == 'data':
          self._add_chunk(value)
        elif self.item is None:
          self.item = self._read_item(value)
    if self.item is None:
      raise protobuf.MalformedError('a sample does not begin with its header')

  def leaves(self) -> list[Leaf]:
    """Returns the item's leaves, in the order of the table's signature.

    Raises:
      MalformedError: a leaf is missing or broken.
    """
    found = []
    for part in self.item.slices:
      tensors = self._chunks.get(part.chunk_key, ())
      if part.index >= len(tensors):
        raise protobuf.MalformedError('a leaf of the sample is missing')
      found.append(self._read_leaf(tensors[part.index], part.step))
    return found

  def _read_item(self, info: memoryview) -> Item:
    content = self._reader.read(info, messages.SAMPLE_INFO).item
    item = self._reader.read(content, messages.PRIORITIZED_ITEM)
    time = self._reader.read(item.inserted_at, messages.TIMESTAMP)
    slices = self._read_slices(item.flat_trajectory)
    if len(slices) != self._leaf_count:
      raise protobuf.MalformedError(
        f'an item does not have {self._leaf_count} leaves'
      )
    inserted_at = time.seconds + time.nanos * 1e-9
    return Item(item.key, item.priority, inserted_at, slices)

  def _read_slices(self, content: memoryview) -> tuple[Slice, ...]:
    slices, known = [], _places.get(len(content))
    for _, column in self._reader.fields(content, messages.FLAT_TRAJECTORY):
      slices.append(self._read_column(column))
      if known is not None and len(slices) == 1:
        chunk_key = slices[0].chunk_key
        key = protobuf.varint(chunk_key)
        if known.content.replace(known.key, key) == content:
          return tuple(Slice(chunk_key, *part[1:]) for part in known.slices)
      if len(slices) > self._leaf_count:
        break
    self._keep_places(content, tuple(slices))
    return tuple(slices)

  def _keep_places(
    self, content: memoryview, slices: tuple[Slice, ...]
  ) -> None:
    keys = {part.chunk_key for part in slices}
    is_small = len(content) < _MAX_PLACES_BYTES and len(_places) < _MAX_PLACES
    if is_small and len(keys) == 1 and len(slices) == self._leaf_count:
      key = protobuf.varint(*keys)
      if len(key) >= _LEAST_KEY_BYTES:
        _places[len(content)] = Places(bytes(content), key, slices)

  def _read_column(self, column: memoryview) -> Slice:
    parts = self._reader.fields(column, messages.COLUMN)
    (_, content), more = next(parts, ('', b'')), next(parts, None)
    if not content or more is not None:
      raise protobuf.MalformedError(
        'an item is a trajectory of several chunks, which no variable '
        'container pushes; give variables a table of their own'
      )
    part = self._reader.read(content, messages.CHUNK_SLICE)
    return Slice(part.chunk_key, part.index, part.offset)

  def _add_chunk(self, content: memoryview) -> None:
    chunk = self._reader.read(content, messages.CHUNK_DATA)
    tensors = []
    for _, tensor in self._reader.fields(chunk.data, messages.TENSORS):
      tensors.append(tensor)
      if len(tensors) > self._leaf_count:
        raise protobuf.MalformedError('a chunk has more leaves than its item')
    if len(self._chunks) > self._leaf_count:
      raise protobuf.MalformedError('a sample has more chunks than leaves')
    self._chunks[chunk.chunk_key] = tensors

  def _read_leaf(self, content: memoryview, step: int) -> Leaf:
    head = _heads.get(len(content))
    if head and not step and content[: len(head.content)] == head.content:
      return Leaf(head.dtype, head.shape, content[len(head.content) :])
    leaf = self._take_apart(content, step)
    before = len(content) - len(leaf.data)
    if 0 < before < _MAX_HEAD_BYTES and len(_heads) < _MAX_HEADS:
      head = Head(bytes(content[:before]), leaf.dtype, leaf.shape)
      if head.content.endswith(snappy.literal_head(len(leaf.data))):
        _heads[len(content)] = head
    return leaf

  def _take_apart(self, content: memoryview, step: int) -> Leaf:
    tensor = self._reader.read(content, messages.TENSOR)
    shape = []
    for name, dim in self._reader.fields(
      tensor.tensor_shape, messages.TENSOR_SHAPE
    ):
      if name == 'dim':
        shape.append(self._reader.read(dim, messages.DIM).size)
      if len(shape) > _MAX_DIMENSIONS:
        raise protobuf.MalformedError('a leaf has too many dimensions')
    if not shape or step >= shape[0]:
      raise protobuf.MalformedError('a leaf lacks the step that was asked for')
    data = snappy.uncompress(tensor.tensor_content or memoryview(b'\0'))
    size, rest = divmod(len(data), shape[0])
    if rest:
      raise protobuf.MalformedError('a leaf does not consist of whole steps')
    data = data[step * size : (step + 1) * size]
    return Leaf(tensor.dtype, tuple(shape[1:]), data)
