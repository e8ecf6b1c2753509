"""Reads protobuf messages without their classes, and without copying them.

A message may come from anybody. So reading takes time in proportion to what is
there, ends at a deadline, believes no length that it cannot see, and finds
nothing but fields of the types that it was told to expect.
"""

import struct
import time
from collections.abc import Iterator, Mapping
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TYPES = {_VARINT: int, _FIXED64: float, _BYTES: memoryview}
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
# Fields between two looks at the clock.
_STRIDE = 1024


class MalformedError(ValueError):
  """What was received is no message of the kind that was expected."""


class Reader:
  """Reads messages, and those within them, until a deadline."""

  def __init__(self, seconds: float):
    """Sets the deadline.

    Args:
      seconds: From now on.
    """
    self._seconds = seconds
    self._deadline = time.monotonic() + seconds
    self._until_look = _STRIDE

  def fields(
    self, message: bytes | memoryview, kinds: Mapping[int, type]
  ) -> Iterator[tuple[int, Any]]:
    """Yields number and value of the fields that are wanted.

    As protobuf has it, fields of other numbers or types are passed over.

    Args:
      message: The whole message.
      kinds: By number: int for whole numbers, taken as unsigned, float for
        doubles, memoryview for text, bytes and messages within.

    Raises:
      MalformedError: it is no message, or it took too long.
    """
    view, at = memoryview(message), 0
    size = len(view)
    while at < size:
      self._until_look -= 1
      if not self._until_look:
        self._look_at_clock()
      # A call for each tag would take a fifth of the time.
      tag, at = view[at], at + 1
      if tag > 0x7F:
        tag, at = varint(view, at - 1)
      number, kind = tag >> 3, tag & 7
      if kind == _VARINT:
        value, at = varint(view, at)
      else:
        if kind == _BYTES:
          length, at = varint(view, at)
        elif kind in _FIXED_SIZES:
          length = _FIXED_SIZES[kind]
        else:
          raise MalformedError(f'field {number} is of no known type')
        value, at = view[at : at + length], at + length
        if at > size:
          raise MalformedError(f'field {number} is longer than its message')
        if kind == _FIXED64:
          (value,) = struct.unpack('<d', value)
      wanted = kinds.get(number)
      if wanted is not None and wanted is _TYPES.get(kind):
        yield number, value

  def last(
    self, message: bytes | memoryview, kinds: Mapping[int, type]
  ) -> dict[int, Any]:
    """The fields that are wanted by number, of each the last one.

    Raises:
      MalformedError: it is no message, or it took too long.
    """
    return dict(self.fields(message, kinds))

  def _look_at_clock(self) -> None:
    self._until_look = _STRIDE
    if time.monotonic() > self._deadline:
      raise MalformedError(f'it cannot be read within {self._seconds:g} s')


def varint(view: memoryview, at: int) -> tuple[int, int]:
  """Reads a whole number of up to 64 bits.

  Returns:
    The number, and where it ends.

  Raises:
    MalformedError: there is none.
  """
  if at < len(view) and view[at] < 0x80:
    return view[at], at + 1
  value = 0
  for index, byte in enumerate(view[at : at + 10]):
    value |= (byte & 0x7F) << 7 * index
    if byte < 0x80:
      return value & 0xFFFFFFFFFFFFFFFF, at + index + 1
  raise MalformedError('a number has no end')


def signed(value: int) -> int:
  """A whole number as it is where it may be negative."""
  return value - (1 << 64) if value >> 63 else value


def text(value: memoryview) -> str:
  """Reads text.

  Raises:
    MalformedError: it is not UTF-8.
  """
  try:
    return bytes(value).decode()
  except UnicodeDecodeError as error:
    raise MalformedError('text is not UTF-8') from error
