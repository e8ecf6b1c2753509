"""Reads and writes protobuf messages without their generated classes.

A message may come from any program. So reading takes time in proportion to the
message's size, ends at a deadline, rejects a length that reaches beyond the
message, and finds only fields of the types that it was told to expect. It
copies no bytes.
"""

import struct
import time
import types
from collections.abc import Iterator
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_WIRE_TYPES = {int: _VARINT, float: _FIXED64, bytes: _BYTES}
_DEFAULTS = {int: 0, float: 0.0, bytes: memoryview(b'')}
# How many fields are read between two looks at the clock.
_STRIDE = 1024


class MalformedError(ValueError):
  """The received bytes are not a message of the expected kind."""


class Message:
  """The fields of one kind of message, as far as they are read or written."""

  def __init__(self, **fields: tuple[int, type]):
    """Describes the fields.

    Args:
      **fields: For each field's name, its number and its type: int for whole
        numbers, float for doubles, and bytes for text, bytes and messages.
    """
    self.defaults = {
      name: _DEFAULTS[kind] for name, (_, kind) in fields.items()
    }
    self.wanted = {
      number: (name, _WIRE_TYPES[kind])
      for name, (number, kind) in fields.items()
    }
    self._tags = {
      name: varint(number << 3 | _WIRE_TYPES[kind])
      for name, (number, kind) in fields.items()
    }

  def encode(self, **values: int | float | bytes) -> bytes:
    """Writes a message.

    Args:
      **values: The fields' values by name, in the order to write them.

    Returns:
      The serialized message.
    """
    return b''.join([self.field(name, value) for name, value in values.items()])

  def field(self, name: str, value: int | float | bytes) -> bytes:
    """Writes one field with its value."""
    if isinstance(value, int):
      return self._tags[name] + varint(value)
    if isinstance(value, float):
      return self._tags[name] + struct.pack('<d', value)
    return self.head(name, len(value)) + value

  def head(self, name: str, length: int) -> bytes:
    """Writes the tag and the length that precede the bytes of a field.

    Args:
      name: The field's name.
      length: How many bytes follow.
    """
    return self._tags[name] + varint(length)


class Reader:
  """Reads messages, and the messages within them, until a deadline."""

  def __init__(self, seconds: float):
    """Sets the deadline.

    Args:
      seconds: The seconds from now in which all reading must be done.
    """
    self._seconds = seconds
    self._deadline = time.monotonic() + seconds
    self._until_look = _STRIDE

  def fields(
    self, content: bytes | memoryview, message: Message
  ) -> Iterator[tuple[str, Any]]:
    """Yields the name and the value of each field that the message describes.

    Fields of other numbers or other types are skipped, as protobuf does.

    Args:
      content: The whole serialized message.
      message: The kind of message.

    Yields:
      The name, and an unsigned int, a float or a memoryview.

    Raises:
      MalformedError: the content is not a message, or reading took too long.
    """
    view, at = memoryview(content), 0
    size, wanted = len(view), message.wanted
    while at < size:
      self._until_look -= 1
      if not self._until_look:
        self._look_at_clock()
      # Calling `read_varint` for each tag would take a fifth of the time.
      tag, at = view[at], at + 1
      if tag > 0x7F:
        tag, at = read_varint(view, at - 1)
      number, wire_type = tag >> 3, tag & 7
      if wire_type == _VARINT:
        value, at = read_varint(view, at)
      else:
        if wire_type == _BYTES:
          length, at = read_varint(view, at)
        elif wire_type in _FIXED_SIZES:
          length = _FIXED_SIZES[wire_type]
        else:
          raise MalformedError(f'field {number} has an unknown type')
        value, at = view[at : at + length], at + length
        if at > size:
          raise MalformedError(f'field {number} is longer than its message')
        if wire_type == _FIXED64:
          (value,) = struct.unpack('<d', value)
      name, expected = wanted.get(number, (None, None))
      if wire_type == expected:
        yield name, value

  def read(
    self, content: bytes | memoryview, message: Message
  ) -> types.SimpleNamespace:
    """Reads a message; of a field that occurs twice, the last one counts.

    Args:
      content: The whole serialized message.
      message: The kind of message.

    Returns:
      An attribute for each field that the message describes. It is 0, 0.0 or
      an empty memoryview for a field that is missing.

    Raises:
      MalformedError: the content is not a message, or reading took too long.
    """
    found = dict(message.defaults)
    found.update(self.fields(content, message))
    return types.SimpleNamespace(**found)

  def _look_at_clock(self) -> None:
    self._until_look = _STRIDE
    if time.monotonic() > self._deadline:
      raise MalformedError(f'reading took longer than {self._seconds:g} s')


def varint(value: int) -> bytes:
  """Writes an unsigned integer as protobuf and snappy do."""
  if value < 0x80:
    return bytes((value,))
  out = bytearray()
  while value > 0x7F:
    out.append(value & 0x7F | 0x80)
    value >>= 7
  out.append(value)
  return bytes(out)


def read_varint(view: memoryview, at: int) -> tuple[int, int]:
  """Reads an unsigned integer of up to 64 bits.

  Args:
    view: The bytes to read from.
    at: Where the number begins.

  Returns:
    The number, and where it ends.

  Raises:
    MalformedError: no number ends within ten bytes.
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
  """Returns the signed integer that an unsigned field holds."""
  return value - (1 << 64) if value >> 63 else value


def text(value: memoryview) -> str:
  """Reads the text of a field.

  Raises:
    MalformedError: the text is not UTF-8.
  """
  try:
    return bytes(value).decode()
  except UnicodeDecodeError as error:
    raise MalformedError('text is not UTF-8') from error
