"""Splits a nest into its containers and its leaves, and builds it again.

TensorFlow's, JAX's and Reverb's ideas of a nest differ: JAX keeps an
OrderedDict's order where TensorFlow sorts its keys, TensorFlow takes None for a
leaf, and Reverb knows neither FrozenDict nor dataclasses. Here a nest is a tree
of `Node`s, and each leaf has a path of keys. The leaves of two nests are
matched by their paths, never by their order.
"""

import collections
import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

# The keys that lead to a leaf: a str for a key of a mapping or the name of a
# field, an int for an index of a sequence.
Path = tuple[str | int, ...]


class Node(NamedTuple):
  """One container of a nest, or one leaf.

  Attributes:
    kind: 'leaf', 'none', 'mapping', 'record' (which has named fields), 'list'
      or 'tuple'.
    type: The container's class as 'module:name'; empty for a leaf and None.
    keys: The children's keys, in the order in which the container has them.
    children: The children's nodes, in the order of `keys`.
    static: Names and values of a dataclass's fields that are not part of the
      tree, such as flax's fields with `pytree_node=False`.
  """

  kind: str
  type: str = ''
  keys: tuple[str | int, ...] = ()
  children: tuple['Node', ...] = ()
  static: tuple[tuple[str, Any], ...] = ()


LEAF = Node('leaf')


def path_name(path: Path) -> str:
  """Returns a path as text, such as `policy/linear[0]`."""
  name = ''
  for key in path:
    if isinstance(key, int):
      name += f'[{key}]'
    else:
      name += f'/{key}' if name else key
  return name or '(the whole value)'


def is_namedtuple(value: Any) -> bool:
  return isinstance(value, tuple) and hasattr(value, '_fields')


def split(nest: Any) -> tuple[Node, dict[Path, Any]]:
  """Takes a nest apart.

  Args:
    nest: A nest of mappings, sequences, namedtuples, dataclasses and classes
      registered with JAX.

  Returns:
    The nest's structure, and its leaves by path in Reverb's order.

  Raises:
    TypeError: a key of a mapping is neither str nor int.
    ValueError: two keys of one mapping have the same text.
  """
  leaves = {}
  node = _split(nest, (), leaves)
  return node, {path: leaves[path] for path in ordered_paths(node)}


def _split(nest: Any, path: Path, leaves: dict[Path, Any]) -> Node:
  opened = _open(nest, path)
  if opened is None:
    leaves[path] = nest
    return LEAF
  kind, keys, values = opened
  steps = keys if kind in ('list', 'tuple') else [str(key) for key in keys]
  if len(set(steps)) != len(steps):
    raise ValueError(f'{path_name(path)}: two keys have the same text: {keys}')
  children = tuple(
    _split(value, (*path, step), leaves)
    for step, value in zip(steps, values, strict=True)
  )
  cls = type(nest)
  name = f'{cls.__module__}:{cls.__qualname__}' if nest is not None else ''
  return Node(kind, name, tuple(keys), children, _static_fields(nest))


def _is_record(nest: Any) -> bool:
  return dataclasses.is_dataclass(nest) and not isinstance(nest, type)


def _is_child(field: dataclasses.Field) -> bool:
  return field.metadata.get('pytree_node', True)


def _static_fields(nest: Any) -> tuple[tuple[str, Any], ...]:
  if not _is_record(nest):
    return ()
  return tuple(
    (field.name, getattr(nest, field.name))
    for field in dataclasses.fields(nest)
    if not _is_child(field)
  )


def _open(nest: Any, path: Path) -> tuple[str, Sequence, Sequence] | None:
  """Returns the kind, keys and children of a container; None for a leaf."""
  if isinstance(nest, np.ndarray):  # This is the most frequent kind by far.
    return None
  if nest is None:
    return 'none', (), ()
  if _is_record(nest):
    names = [
      field.name for field in dataclasses.fields(nest) if _is_child(field)
    ]
    return 'record', names, [getattr(nest, name) for name in names]
  if isinstance(nest, Mapping):
    for key in nest:
      if not isinstance(key, str | int):
        raise TypeError(
          f'{path_name(path)}: the key {key!r} is a {type(key).__name__}; a '
          'nest of variables has keys of str or int.'
        )
    return 'mapping', list(nest), list(nest.values())
  if is_namedtuple(nest):
    return 'record', nest._fields, tuple(nest)
  if isinstance(nest, list | tuple):
    kind = 'list' if isinstance(nest, list) else 'tuple'
    return kind, range(len(nest)), nest
  return _open_registered(nest)


def _open_registered(nest: Any) -> tuple[str, Sequence, Sequence] | None:
  """Does what `_open` does, for classes that only JAX knows as containers."""
  jax = sys.modules.get('jax')
  if jax is None or jax.tree_util.all_leaves([nest]):
    return None
  children = jax.tree_util.tree_leaves(nest, is_leaf=lambda x: x is not nest)
  return 'tuple', range(len(children)), children


def ordered_paths(node: Node, path: Path = ()) -> Iterator[Path]:
  """Yields the leaves' paths in Reverb's order: mappings by sorted key."""
  if node.kind == 'leaf':
    yield path
    return
  pairs = list(zip(node.keys, node.children, strict=True))
  if node.kind not in ('list', 'tuple'):
    pairs = [(str(key), child) for key, child in pairs]
  if node.kind == 'mapping':
    pairs.sort(key=lambda pair: pair[0])
  for key, child in pairs:
    yield from ordered_paths(child, (*path, key))


def plain(node: Node, leaves: Mapping[Path, Any], path: Path = ()) -> Any:
  """Builds a nest that Reverb can hold, of dict, list, tuple and namedtuple."""
  return _build(node, leaves, path, _plain_container)


def rebuild(node: Node, leaves: Mapping[Path, Any], path: Path = ()) -> Any:
  """Builds a nest of the classes that the original nest had.

  A class is used only if this process has imported it already and it is of the
  kind that the structure says. So a structure from the network cannot run code.
  Any other class is replaced by a dict, a list, a tuple or a namedtuple of that
  name.
  """
  return _build(node, leaves, path, _own_container)


def _build(
  node: Node, leaves: Mapping[Path, Any], path: Path, make: Any
) -> Any:
  if node.kind == 'leaf':
    return leaves[path]
  steps = node.keys
  if node.kind not in ('list', 'tuple'):
    steps = [str(key) for key in node.keys]
  values = [
    _build(child, leaves, (*path, step), make)
    for step, child in zip(steps, node.children, strict=True)
  ]
  return make(node, values)


def _plain_container(node: Node, values: list) -> Any:
  if node.kind == 'none':
    # TensorFlow would take None for a leaf.
    return ()
  if node.kind == 'mapping':
    return {
      str(key): value for key, value in zip(node.keys, values, strict=True)
    }
  if node.kind == 'record':
    return _stand_in(node, values)
  return values if node.kind == 'list' else tuple(values)


def _own_container(node: Node, values: list) -> Any:
  if node.kind == 'none':
    return None
  cls = _find_class(node.type)
  if node.kind == 'mapping':
    pairs = dict(zip(node.keys, values, strict=True))
    # A subclass may take other arguments, as defaultdict does.
    is_known = cls is not None and issubclass(cls, Mapping)
    if not is_known or hasattr(cls, '__missing__'):
      return pairs
    try:
      return cls(pairs)
    except TypeError:
      return pairs
  if node.kind == 'record':
    fields = dict(zip(node.keys, values, strict=True)) | dict(node.static)
    if _has_fields(cls, tuple(fields)):
      return cls(**fields)
    return _stand_in(node, values)
  return values if node.kind == 'list' else tuple(values)


def _stand_in(node: Node, values: list) -> Any:
  name = node.type.rpartition(':')[2].rpartition('.')[2]
  return _namedtuple(name, node.keys)(*values)


_namedtuples: dict[tuple[str, tuple], type] = {}


def _namedtuple(name: str, names: tuple) -> type:
  """Returns the same class for the same name and fields, for equal types."""
  if (name, names) not in _namedtuples:
    # The name came from the network and may not be valid in Python.
    usable = name if name.isidentifier() else 'Record'
    made = collections.namedtuple(usable, map(str, names), rename=True)
    _namedtuples[name, names] = made
  return _namedtuples[name, names]


def _find_class(name: str) -> type | None:
  module, _, qualname = name.partition(':')
  found = sys.modules.get(module)
  for part in qualname.split('.'):
    # With `getattr`, a module that has `__getattr__` might import others.
    found = getattr(found, '__dict__', {}).get(part)
  return found if isinstance(found, type) else None


def _has_fields(cls: type | None, names: tuple) -> bool:
  if cls is None:
    return False
  if dataclasses.is_dataclass(cls):
    return {field.name for field in dataclasses.fields(cls)} == set(names)
  return issubclass(cls, tuple) and getattr(cls, '_fields', None) == names
