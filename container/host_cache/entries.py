"""One version of a table as a file that can be mapped.

A header in JSON says the leaves' dtypes and shapes. Each leaf begins at an
address where JAX can share its memory.
"""

import json
import mmap
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

# Bytes. On a CPU, JAX shares an array's memory only if it is aligned so.
_ALIGNMENT = 64
# Bytes of a file that `read_header` reads; the fields before the leaves fit in.
_HEADER_BYTES = 8192
# The text with which the list of leaves begins, the last field of a header.
_LEAVES = b',"leaves"'


class Entry(NamedTuple):
  """One version, as the cache holds it.

  Attributes:
    key: The key of the version's item on the server.
    priority: The item's priority, which says its version.
    index: How many items were put into the table, this one included.
    pushed_at: When it was pushed, in seconds since the epoch.
    is_local: Whether its pusher is on this host. The pusher will then put the
      next version into the cache, too.
    arrays: A read-only array for each leaf.
  """

  key: int
  priority: float
  index: int
  pushed_at: float
  is_local: bool
  arrays: Sequence[np.ndarray]


def write(descriptor: int, entry: Entry) -> None:
  """Writes a version into an empty file.

  Args:
    descriptor: The file's descriptor.
    entry: The version.

  Raises:
    OSError: the file system has no room.
  """
  header = _encode_header(entry)
  size = _aligned(len(header)) + sum(
    _aligned(array.nbytes) for array in entry.arrays
  )
  # Not through a mapping: on a full disk, that would end in a signal.
  os.truncate(descriptor, size)
  _write_at(descriptor, header, 0)
  at = _aligned(len(header))
  for array in entry.arrays:
    _write_at(descriptor, array.reshape(-1).view(np.uint8), at)
    at += _aligned(array.nbytes)


def decode(memory: mmap.mmap) -> Entry:
  """Returns the version in a mapped file; its arrays are views of the file."""
  length = int.from_bytes(memory[:8], 'little')
  header = json.loads(memory[8 : 8 + length])
  arrays = _map_arrays(memory, header.pop('leaves'), _aligned(8 + length))
  return Entry(**header, arrays=arrays)


def read_header(descriptor: int) -> Entry:
  """Reads a version without its arrays, in one read of a fixed size."""
  start = os.pread(descriptor, _HEADER_BYTES, 0)
  text = start[8 : start.index(_LEAVES)] + b'}'
  return Entry(**json.loads(text), arrays=())


def _encode_header(entry: Entry) -> bytes:
  header = entry._asdict()
  # The list of leaves may be long, and `read_header` expects it at the end.
  header['leaves'] = [
    (array.dtype.name, array.shape) for array in header.pop('arrays')
  ]
  text = json.dumps(header, separators=(',', ':')).encode()
  return len(text).to_bytes(8, 'little') + text


def _aligned(size: int) -> int:
  return -(-size // _ALIGNMENT) * _ALIGNMENT


def _write_at(descriptor: int, data: Any, at: int) -> None:
  view = memoryview(data)
  while view:
    written = os.pwrite(descriptor, view, at)
    view, at = view[written:], at + written


def _map_arrays(
  memory: mmap.mmap, leaves: Sequence[tuple[str, list[int]]], at: int
) -> list[np.ndarray]:
  arrays = []
  for name, shape in leaves:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    count = int(np.prod(shape, dtype=np.int64))
    array = np.frombuffer(memory, dtype, count, at if count else 0)
    arrays.append(array.reshape(shape))
    at += _aligned(array.nbytes)
  return arrays
