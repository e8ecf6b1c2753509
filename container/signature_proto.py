"""Reads the signature of a table as a server sends it.

The field numbers are those of TensorFlow's `struct.proto`. TensorFlow's own
reader is private, knows no deadline, and takes 35 us for each leaf.
"""

from collections.abc import Iterator
from typing import NamedTuple

from container import structure
from reverb_wire import protobuf

_PART = memoryview
_KINDS = {1: 'none', 51: 'list', 52: 'tuple', 53: 'mapping', 54: 'record'}
_LEAVES = (33, 35)  # A spec, and one with bounds.
_VALUE = dict.fromkeys((*_KINDS, *_LEAVES, 11, 31, 34), _PART) | dict.fromkeys(
  (12, 14, 32), int
)
_DEEPEST = 100
_MOST_DIMENSIONS = 64


class RawSpec(NamedTuple):
  """A leaf as it is on the wire.

  Attributes:
    name: As whoever made the table called it.
    shape: None for any, or with None for a dimension of any size.
    dtype: TensorFlow's enum.
  """

  name: str
  shape: tuple[int | None, ...] | None
  dtype: int


def decode(
  signature: memoryview, seconds: float
) -> tuple[structure.Node, dict[structure.Path, RawSpec]]:
  """Reads a `StructuredValue`.

  Args:
    signature: Serialized.
    seconds: That it may take.

  Returns:
    The nest, and its leaves by path in Reverb's order.

  Raises:
    MalformedError: it is none, or it took too long.
    TypeError: it holds something else than tensors.
  """
  leaves = {}
  node = _Decoder(protobuf.Reader(seconds), leaves).value(signature, ())
  return node, {path: leaves[path] for path in structure.ordered_paths(node)}


class _Decoder:
  """Reads values, and notes those that are leaves."""

  def __init__(
    self, reader: protobuf.Reader, leaves: dict[structure.Path, RawSpec]
  ):
    self._reader = reader
    self._leaves = leaves

  def value(self, message: memoryview, path: structure.Path) -> structure.Node:
    if len(path) > _DEEPEST:
      raise protobuf.MalformedError(f'it is deeper than {_DEEPEST} levels')
    fields = self._reader.last(message, _VALUE)
    if len(fields) != 1:
      raise protobuf.MalformedError(
        f'{structure.path_name(path)} is no value of a signature'
      )
    ((number, content),) = fields.items()
    if number in _LEAVES:
      self._leaves[path] = self._spec(content)
      return structure.LEAF
    if number not in _KINDS:
      raise TypeError(
        f'{structure.path_name(path)}: a table of other things than tensors '
        'is not variables'
      )
    return self._container(_KINDS[number], content, path)

  def _container(
    self, kind: str, content: memoryview, path: structure.Path
  ) -> structure.Node:
    name, keys, children = '', {}, []
    if kind in ('list', 'tuple'):
      for _, item in self._reader.fields(content, {1: _PART}):
        children.append(self.value(item, (*path, len(keys))))
        keys[len(keys)] = None
    elif kind != 'none':
      if kind == 'record':
        found = self._reader.last(content, {1: _PART})
        name = ':' + protobuf.text(found.get(1, memoryview(b'')))
      for key, item in self._pairs(kind, content):
        if key in keys:
          raise protobuf.MalformedError(
            f'{structure.path_name(path)} has {key!r} twice'
          )
        children.append(self.value(item, (*path, key)))
        keys[key] = None
    return structure.Node(kind, name, tuple(keys), tuple(children))

  def _pairs(
    self, kind: str, content: memoryview
  ) -> Iterator[tuple[str, memoryview]]:
    wanted = 1 if kind == 'mapping' else 2
    for _, pair in self._reader.fields(content, {wanted: _PART}):
      found = self._reader.last(pair, {1: _PART, 2: _PART})
      empty = memoryview(b'')
      yield protobuf.text(found.get(1, empty)), found.get(2, empty)

  def _spec(self, message: memoryview) -> RawSpec:
    found = self._reader.last(message, {1: _PART, 2: _PART, 3: int})
    shape = []
    for number, dim in self._reader.fields(
      found.get(2, b''), {2: _PART, 3: int}
    ):
      if number == 3 and dim:
        shape = None
        break
      size = protobuf.signed(self._reader.last(dim, {1: int}).get(1, 0))
      shape.append(size if size >= 0 else None)
      if len(shape) > _MOST_DIMENSIONS:
        raise protobuf.MalformedError('a tensor has too many dimensions')
    name = protobuf.text(found.get(1, memoryview(b'')))
    return RawSpec(
      name, None if shape is None else tuple(shape), found.get(3, 0)
    )
