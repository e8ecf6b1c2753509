"""Writes structures as text, which a table's signature carries; reads them."""

import json
from collections.abc import Iterable

from container.nests import structure

_KINDS = ('leaf', 'none', 'mapping', 'record', 'list', 'tuple')


def encode(node: structure.Node) -> str:
  """Writes a structure, without static fields that are not scalars.

  If a field of a dataclass is left out, the reader gets a namedtuple in its
  place.
  """
  return json.dumps(_sendable(node), separators=(',', ':'))


def _sendable(node: structure.Node) -> structure.Node:
  static = tuple(
    (name, value)
    for name, value in node.static
    if value is None or isinstance(value, bool | int | float | str)
  )
  return node._replace(
    children=tuple(map(_sendable, node.children)), static=static
  )


def decode(text: str, paths: Iterable[structure.Path]) -> structure.Node | None:
  """Reads what `encode` has written.

  Args:
    text: The text, which any program may have written.
    paths: The paths of the leaves that the structure must have, in order.

  Returns:
    The structure; None if the text does not describe one with these leaves.
  """
  try:
    node = _from_lists(json.loads(text))
    has_these_leaves = list(structure.ordered_paths(node)) == list(paths)
  except (TypeError, ValueError, RecursionError):
    return None
  return node if has_these_leaves else None


def _from_lists(lists: list) -> structure.Node:
  kind, name, keys, children, static = lists
  is_known = kind in _KINDS and isinstance(name, str)
  if not is_known or not all(isinstance(key, str | int) for key in keys):
    raise ValueError('The text does not describe a structure.')
  return structure.Node(
    kind,
    name,
    tuple(keys),
    tuple(map(_from_lists, children)),
    tuple((str(field), value) for field, value in static),
  )
