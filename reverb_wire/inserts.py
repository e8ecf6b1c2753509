"""Writes the requests that put one item into a table, without compressing it.

Reverb's own clients compress each leaf with snappy and copy it several times. A
snappy stream may also hold its data verbatim, as the streams written here do.
Every Reverb client can read it, no time goes into compressing weights (which do
not compress), and a reader needs no copy of the data.
"""

import functools
import secrets
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from reverb_wire import messages, snappy

# A protobuf message is smaller than 2 GiB; this leaves room for the headers.
MAX_LEAF_BYTES = 2**31 - 2**16

# Bytes of leaves that share a chunk. Each chunk is a message of its own, which
# costs as much as a megabyte of data does.
_CHUNK_BYTES = 2**20


class Item(NamedTuple):
  """An item of a table, without its leaves.

  Attributes:
    table_name: The name of the table that the item goes into.
    key: A number that no other item has.
    priority: The item's priority.
  """

  table_name: str
  key: int
  priority: float


def encode_insert(
  item: Item, arrays: Sequence[np.ndarray], dtypes: Sequence[int]
) -> Iterator[bytes]:
  """Writes the `InsertStreamRequest`s that put one item into a table.

  Args:
    item: The item.
    arrays: Its leaves, C-contiguous, in the order of the table's signature.
    dtypes: TensorFlow's number for each leaf's type.

  Yields:
    The serialized requests.
  """
  episode_id = secrets.randbits(63)
  chunks = [(secrets.randbits(63), part) for part in partition(arrays)]
  item_parts = encode_item(
    item, [(key, part.stop - part.start) for key, part in chunks]
  )
  for key, part in chunks:
    parts = encode_chunk(arrays[part], dtypes[part], key, episode_id)
    # Protobuf merges joined messages, so the item can follow its last chunk.
    is_last = part.stop == len(arrays)
    yield b''.join([*parts, item_parts] if is_last else parts)


def is_one_message(arrays: Sequence[np.ndarray]) -> bool:
  """Returns whether an item is so small that one message holds all of it."""
  return sum(array.nbytes for array in arrays) <= _CHUNK_BYTES


def partition(arrays: Sequence[np.ndarray]) -> list[slice]:
  """Groups leaves into chunks: small ones together, a large one by itself."""
  parts, start, size = [], 0, 0
  for index, array in enumerate(arrays):
    if index > start and size + array.nbytes > _CHUNK_BYTES:
      parts.append(slice(start, index))
      start, size = index, 0
    size += array.nbytes
  return [*parts, slice(start, len(arrays))]


def encode_chunk(
  arrays: Sequence[np.ndarray],
  dtypes: Sequence[int],
  chunk_key: int,
  episode_id: int,
) -> list[bytes | memoryview]:
  """Writes an `InsertStreamRequest` with one chunk.

  Args:
    arrays: The chunk's leaves, C-contiguous, of any shape.
    dtypes: TensorFlow's number for each leaf's type.
    chunk_key: The number by which the item refers to the chunk.
    episode_id: A number that tells this insert from others on the server.

  Returns:
    The serialized request, in parts; the arrays' memory is not copied.
  """
  parts, length = [], 0
  for array, dtype in zip(arrays, dtypes, strict=True):
    head = _encode_tensor_head(array.shape, array.nbytes, dtype)
    parts += head, memoryview(array.reshape(-1).view(np.uint8))
    length += len(head) + array.nbytes
  chunk = messages.CHUNK_DATA
  head = chunk.encode(
    chunk_key=chunk_key,
    sequence_range=messages.SEQUENCE_RANGE.encode(episode_id=episode_id),
    data_tensors_len=len(arrays),
  ) + chunk.head('data', length)
  request = messages.INSERT_STREAM_REQUEST
  return [request.head('chunks', len(head) + length), head, *parts]


# Each push has leaves of the same shapes, and writing these bytes would take
# longer than sending them.
@functools.lru_cache(maxsize=10_000)
def _encode_tensor_head(
  shape: tuple[int, ...], length: int, dtype: int
) -> bytes:
  """Writes what stands before an array's memory in a chunk's `data`.

  Args:
    shape: The array's shape.
    length: The array's size in bytes.
    dtype: TensorFlow's number for the array's type.
  """
  content = snappy.literal_head(length)
  # Reverb's chunks have a leading axis of time: here, one step.
  tensor_shape = b''.join(
    messages.TENSOR_SHAPE.field('dim', messages.DIM.field('size', size))
    for size in (1, *shape)
  )
  tensor = messages.TENSOR.encode(dtype=dtype, tensor_shape=tensor_shape)
  tensor += messages.TENSOR.head('tensor_content', len(content) + length)
  tensor += content
  return messages.TENSORS.head('tensors', len(tensor) + length) + tensor


def encode_item(item: Item, chunks: Sequence[tuple[int, int]]) -> bytes:
  """Writes an `InsertStreamRequest` with an item whose chunks were sent before.

  Args:
    item: The item.
    chunks: The key of each chunk, and how many leaves it has.

  Returns:
    The serialized request.
  """
  encoded = messages.PRIORITIZED_ITEM.encode(
    key=item.key,
    table=item.table_name.encode(),
    priority=item.priority,
    flat_trajectory=b''.join(
      _encode_columns(key, count) for key, count in chunks
    ),
  )
  return messages.INSERT_STREAM_REQUEST.field('item', encoded)


def _encode_columns(chunk_key: int, count: int) -> bytes:
  """Writes the columns of a trajectory that one chunk holds, all of its leaves.

  Args:
    chunk_key: The chunk's key.
    count: How many leaves the chunk has.
  """
  key = messages.CHUNK_SLICE.field('chunk_key', chunk_key)
  return b''.join(
    _encode_column_head(len(key), index) + key + _encode_place(index)
    for index in range(count)
  )


@functools.lru_cache(maxsize=10_000)
def _encode_column_head(key_length: int, index: int) -> bytes:
  part = messages.COLUMN.head(
    'chunk_slices', key_length + len(_encode_place(index))
  )
  length = len(part) + key_length + len(_encode_place(index))
  return messages.FLAT_TRAJECTORY.head('columns', length) + part


@functools.lru_cache(maxsize=10_000)
def _encode_place(index: int) -> bytes:
  """Writes where in its chunk a leaf is, after the chunk's key."""
  return messages.CHUNK_SLICE.encode(length=1, index=index)
