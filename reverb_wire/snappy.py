"""Reads and writes snappy streams, in which Reverb sends tensors' memory.

A stream may hold its data verbatim, as a literal. Writing a literal needs no
compression, and reading one needs no copy.
"""

import cramjam

from reverb_wire import protobuf

# The first byte of a literal whose length, less one, follows in four bytes.
_LITERAL_OF_4_BYTE_LENGTH = b'\xfc'
# One byte of a stream stands for at most this many bytes of data.
_MAX_COMPRESSION = 32


def literal_head(length: int) -> bytes:
  """Writes the bytes before the data in a stream that holds it verbatim.

  Args:
    length: How many bytes of data follow.
  """
  head = protobuf.varint(length)
  if length:
    head += _LITERAL_OF_4_BYTE_LENGTH + (length - 1).to_bytes(4, 'little')
  return head


def uncompress(stream: memoryview) -> memoryview:
  """Reads a stream, without a copy if it holds its data verbatim.

  Raises:
    MalformedError: it is not a snappy stream.
  """
  length, at = protobuf.read_varint(stream, 0)
  if length == 0:
    return stream[:0]
  if stream[at : at + 1] == _LITERAL_OF_4_BYTE_LENGTH:
    literal = int.from_bytes(stream[at + 1 : at + 5], 'little') + 1
    if literal == length == len(stream) - at - 5:
      return stream[at + 5 :]
  if length > _MAX_COMPRESSION * len(stream):
    raise protobuf.MalformedError('a leaf is shorter than it says')
  try:
    data = cramjam.snappy.decompress_raw(stream)
  except cramjam.DecompressionError as error:
    raise protobuf.MalformedError(f'a leaf is not snappy ({error})') from error
  return memoryview(data).cast('B')
