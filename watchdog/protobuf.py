"""Reads protobuf messages without their classes.

Reverb's generated ones import TensorFlow, which takes longer than a status may.
"""

import struct
from collections.abc import Iterator
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
  """Yields (number, value) of each field of a message.

  A value is an int for varints, a float for 64-bit fields taken as doubles, and
  bytes for text, bytes and messages within.

  Raises:
    ValueError: it is no protobuf message.
  """
  at = 0
  while at < len(data):
    tag, at = _varint(data, at)
    number, kind = tag >> 3, tag & 7
    if kind == _VARINT:
      value, at = _varint(data, at)
    elif kind == _FIXED64:
      (value,) = struct.unpack_from('<d', data, at)
      at += 8
    elif kind == _BYTES:
      length, at = _varint(data, at)
      value = data[at : at + length]
      at += length
    elif kind == _FIXED32:
      (value,) = struct.unpack_from('<f', data, at)
      at += 4
    else:
      raise ValueError(f'Field {number} has the unknown wire type {kind}.')
    yield number, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
  value = shift = 0
  while True:
    byte = data[at]
    value |= (byte & 0x7F) << shift
    at += 1
    if byte < 0x80:
      return value, at
    shift += 7
