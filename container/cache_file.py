"""One version of a table as a file that can be mapped.

A header in JSON tells the leaves' types and shapes; each leaf begins where JAX
can share its memory.
"""

import json
import mmap
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

_ALIGNMENT = 64  # JAX shares an array's memory on a CPU only if aligned so.
# What is read for a look at a header; its fixed fields are within.
_LOOK_BYTES = 8192


class Entry(NamedTuple):
  """One version, as the cache holds it.

  Attributes:
    key: The item's on the server.
    priority: The item's, which holds its version.
    index: How many items the server had taken when this one was in.
    pushed_at: Seconds since the epoch.
    is_local: Whether the pusher itself left it, and so will leave the next.
    arrays: Read-only, one a leaf.
  """

  key: int
  priority: float
  index: int
  pushed_at: float
  is_local: bool
  arrays: list[np.ndarray]


def _aligned(size: int) -> int:
  return -(-size // _ALIGNMENT) * _ALIGNMENT


def _encode_header(entry: Entry) -> bytes:
  header = {
    'key': entry.key,
    'priority': entry.priority,
    'index': entry.index,
    'pushed_at': entry.pushed_at,
    'is_local': entry.is_local,
    'leaves': [(array.dtype.name, array.shape) for array in entry.arrays],
  }
  # The fixed fields come first, so that a look at them need not read it all.
  text = json.dumps(header, separators=(',', ':')).encode()
  return len(text).to_bytes(8, 'little') + text


def _decode_header(memory: Any) -> tuple[dict[str, Any], int]:
  length = int.from_bytes(memory[:8], 'little')
  text = bytes(memory[8 : 8 + length])
  if len(text) < length:
    text = text[: text.index(b',"leaves"')] + b'}'
  return json.loads(text), _aligned(8 + length)


def write(descriptor: int, entry: Entry) -> None:
  """Writes a version into an empty file.

  Raises:
    OSError: there is no room.
  """
  header = _encode_header(entry)
  size = _aligned(len(header)) + sum(
    _aligned(array.nbytes) for array in entry.arrays
  )
  # Not through a mapping, where a full disk would be a signal, not an error.
  os.truncate(descriptor, size)
  _write_at(descriptor, header, 0)
  at = _aligned(len(header))
  for array in entry.arrays:
    _write_at(descriptor, array.reshape(-1).view(np.uint8), at)
    at += _aligned(array.nbytes)


def _write_at(descriptor: int, data: Any, at: int) -> None:
  view = memoryview(data)
  while view:
    written = os.pwrite(descriptor, view, at)
    view, at = view[written:], at + written


def decode(memory: mmap.mmap) -> Entry:
  """Views a mapped file as the version that it is."""
  header, at = _decode_header(memory)
  arrays = _map_arrays(memory, header.pop('leaves'), at)
  return Entry(**header, arrays=arrays)


def look(descriptor: int) -> dict[str, Any]:
  """A file's fixed fields."""
  return _decode_header(os.pread(descriptor, _LOOK_BYTES, 0))[0]


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
