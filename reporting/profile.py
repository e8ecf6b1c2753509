"""Where each process's time went, as `launch.py --profile` has found."""

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

FOLDER = 'profile'
# A node's time that none of its children took has this name.
_REST = {'step': 'gradient step'}


class _Node(NamedTuple):
  """A part of a process's work: how long it took, and how often it was done."""

  seconds: float
  calls: int


# The parts by their paths, such as `step/sample wait`; '' is the process.
_Tree = Mapping[str, _Node]


def page(run_dir: str | pathlib.Path) -> str:
  """Returns the trees of a run's processes as text; '' without a profile."""
  lines = []
  for path in sorted((pathlib.Path(run_dir) / FOLDER).glob('*.json')):
    label, _, index = path.stem.rpartition('_')
    tree = {p: _Node(**n) for p, n in json.loads(path.read_text()).items()}
    lines += _lines(f'{label}/{index}', tree)
  return '\n'.join(lines)


def _lines(process: str, tree: _Tree) -> Iterator[str]:
  total = tree[''].seconds
  yield f'{process:<28}{total:>8.1f} s'
  yield from _children('', tree, total)


def _children(parent: str, tree: _Tree, total: float) -> Iterator[str]:
  prefix = f'{parent}/' if parent else ''
  children = {
    path: node
    for path, node in tree.items()
    if path.startswith(prefix) and path and '/' not in path[len(prefix) :]
  }
  if not children:
    return
  indent = '  ' * (prefix.count('/') + 1)
  by_time = sorted(children.items(), key=lambda item: -item[1].seconds)
  for path, node in by_time:
    yield (
      f'{indent + path[len(prefix) :]:<28}{node.seconds:>8.1f} s'
      f'{node.seconds / total:>7.1%}{node.calls:>11,} calls'
      f'{1e3 * node.seconds / node.calls:>10.3f} ms each'
    )
    yield from _children(path, tree, total)
  rest = tree[parent].seconds - sum(n.seconds for n in children.values())
  name = indent + _REST.get(parent, 'all else')
  yield f'{name:<28}{rest:>8.1f} s{rest / total:>7.1%}'
