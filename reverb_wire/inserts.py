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
    item,
    [(key, i) for key, part in chunks for i in range(part.stop - part.start)],
  )
  for key, part in chunks:
    parts = encode_chunk(arrays[part], dtypes[part], key, episode_id)
    # Protobuf merges joined messages, so the item can follow its last chunk.
    is_last = part.stop == len(arrays)
    yield b''.join([*parts, item_parts] if is_last else parts)


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
    parts.append(_encode_tensor_head(array, dtype))
    parts.append(memoryview(array.reshape(-1).view(np.uint8)))
    length += len(parts[-2]) + array.nbytes
  chunk = messages.CHUNK_DATA
  head = chunk.encode(
    chunk_key=chunk_key,
    sequence_range=messages.SEQUENCE_RANGE.encode(episode_id=episode_id),
    data_tensors_len=len(arrays),
  ) + chunk.head('data', length)
  request = messages.INSERT_STREAM_REQUEST
  return [request.head('chunks', len(head) + length), head, *parts]


def _encode_tensor_head(array: np.ndarray, dtype: int) -> bytes:
  """Writes what stands before an array's memory in a chunk's `data`."""
  length = array.nbytes
  content = snappy.literal_head(length)
  # Reverb's chunks have a leading axis of time: here, one step.
  tensor = messages.TENSOR.encode(
    dtype=dtype, tensor_shape=_encode_shape((1, *array.shape))
  )
  tensor += messages.TENSOR.head('tensor_content', len(content) + length)
  tensor += content
  return messages.TENSORS.head('tensors', len(tensor) + length) + tensor


@functools.lru_cache(maxsize=10_000)
def _encode_shape(shape: tuple[int, ...]) -> bytes:
  """Writes a `TensorShapeProto`; cached, as each push has the same shapes."""
  return b''.join(
    messages.TENSOR_SHAPE.field('dim', messages.DIM.field('size', size))
    for size in shape
  )


def encode_item(item: Item, columns: Sequence[tuple[int, int]]) -> bytes:
  """Writes an `InsertStreamRequest` with an item whose chunks were sent before.

  Args:
    item: The item.
    columns: For each leaf, the key of its chunk and its index in the chunk.

  Returns:
    The serialized request.
  """
  trajectory = messages.FLAT_TRAJECTORY
  encoded = messages.PRIORITIZED_ITEM.encode(
    key=item.key,
    table=item.table_name.encode(),
    priority=item.priority,
    flat_trajectory=b''.join(
      trajectory.field('columns', _encode_column(chunk_key, index))
      for chunk_key, index in columns
    ),
  )
  return messages.INSERT_STREAM_REQUEST.field('item', encoded)


def _encode_column(chunk_key: int, index: int) -> bytes:
  part = messages.CHUNK_SLICE.encode(chunk_key=chunk_key, length=1, index=index)
  return messages.COLUMN.field('chunk_slices', part)
