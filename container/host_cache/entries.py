"""One version of a table as a file that can be mapped.

A header in JSON says the leaves' dtypes and shapes. Each leaf begins at an
address where JAX can share its memory.
"""

import collections
import functools
import itertools
import json
import math
import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

import ml_dtypes
import numpy as np

# Bytes. On a CPU, JAX shares an array's memory only if it is aligned so.
_ALIGNMENT = 64
# Bytes of a file that `read_header` reads; the fields before the leaves fit in.
_HEADER_BYTES = 8192
# The text with which the list of leaves begins, the last field of a header.
_LEAVES = b',"leaves"'
# Parts of a file that one call may write.
_MAX_PARTS = os.sysconf('SC_IOV_MAX')


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
  parts = [header, _padding(len(header))]
  for array in entry.arrays:
    parts += array.reshape(-1).view(np.uint8), _padding(array.nbytes)
  _write_all(descriptor, [memoryview(part) for part in parts if len(part)])


def decode(memory: mmap.mmap) -> Entry:
  """Returns the version in a mapped file; its arrays are views of the file."""
  length = int.from_bytes(memory[:8], 'little')
  text = memory[8 : 8 + length]
  at = text.index(_LEAVES)
  arrays = []
  for dtype, shape, count, begin in _read_layout(
    text[at:], _aligned(8 + length)
  ):
    array = np.frombuffer(memory, dtype, count, begin if count else 0)
    arrays.append(array.reshape(shape))
  return Entry(**json.loads(text[:at] + b'}'), arrays=arrays)


def read_header(descriptor: int) -> Entry:
  """Reads a version without its arrays, in one read of a fixed size."""
  start = os.pread(descriptor, _HEADER_BYTES, 0)
  text = start[8 : start.index(_LEAVES)] + b'}'
  return Entry(**json.loads(text), arrays=())


def _encode_header(entry: Entry) -> bytes:
  header = entry._asdict()
  leaves = tuple((array.dtype, array.shape) for array in header.pop('arrays'))
  text = json.dumps(header, separators=(',', ':')).encode()
  # The list of leaves may be long, and `read_header` expects it at the end.
  text = text[:-1] + _encode_leaves(leaves)
  return len(text).to_bytes(8, 'little') + text


# All versions of a table have the same leaves, so these two are cached.
@functools.lru_cache(maxsize=100)
def _encode_leaves(
  leaves: tuple[tuple[np.dtype, tuple[int, ...]], ...],
) -> bytes:
  """Writes the end of a header: each leaf's dtype and shape."""
  named = [(dtype.name, shape) for dtype, shape in leaves]
  return _LEAVES + f':{json.dumps(named)}}}'.encode()


@functools.lru_cache(maxsize=100)
def _read_layout(text: bytes, at: int) -> list[tuple]:
  """Reads what `_encode_leaves` has written.

  Args:
    text: The end of a header.
    at: Where the first leaf begins in the file, in bytes.

  Returns:
    For each leaf its dtype, its shape, how many elements it has, and where in
    the file it begins.
  """
  layout = []
  for name, shape in json.loads(b'{' + text[1:])['leaves']:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    count = math.prod(shape)
    layout.append((dtype, tuple(shape), count, at))
    at += _aligned(count * dtype.itemsize)
  return layout


def _aligned(size: int) -> int:
  return -(-size // _ALIGNMENT) * _ALIGNMENT


def _padding(size: int) -> bytes:
  return bytes(_aligned(size) - size)


def _write_all(descriptor: int, parts: Sequence[memoryview]) -> None:
  """Writes parts one after the other, many of them in one call."""
  # Not through a mapping: on a full disk, that would end in a signal.
  parts = collections.deque(parts)
  while parts:
    written = os.writev(descriptor, list(itertools.islice(parts, _MAX_PARTS)))
    while parts and written >= len(parts[0]):
      written -= len(parts.popleft())
    if written:
      parts[0] = parts[0][written:]
