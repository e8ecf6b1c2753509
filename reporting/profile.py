"""What `launch.py --profile` found, as a tree a process."""

import json
import pathlib
from collections.abc import Iterator, Mapping

FOLDER = 'profile'
# What is left of a learner's step when its samples are there.
_REST = {'step': 'gradient step'}


def page(run_dir: str | pathlib.Path) -> str:
  """Returns the trees of a run's processes; '' if it was not profiled."""
  lines = []
  for path in sorted((pathlib.Path(run_dir) / FOLDER).glob('*.json')):
    label, _, index = path.stem.rpartition('_')
    lines += _lines(f'{label}/{index}', json.loads(path.read_text()))
  return '\n'.join(lines)


def _lines(
  process: str, tree: Mapping[str, Mapping[str, float]]
) -> Iterator[str]:
  total = tree['']['seconds']
  yield f'{process:<28}{total:>8.1f} s'
  yield from _children('', tree, total)


def _children(
  parent: str, tree: Mapping[str, Mapping[str, float]], total: float
) -> Iterator[str]:
  prefix = f'{parent}/' if parent else ''
  children = {
    path: node
    for path, node in tree.items()
    if path.startswith(prefix) and path and '/' not in path[len(prefix) :]
  }
  if not children:
    return
  indent = '  ' * (prefix.count('/') + 1)
  by_time = sorted(children.items(), key=lambda item: -item[1]['seconds'])
  for path, node in by_time:
    calls, seconds = node['calls'], node['seconds']
    yield (
      f'{indent + path[len(prefix) :]:<28}{seconds:>8.1f} s'
      f'{seconds / total:>7.1%}{calls:>11,} calls'
      f'{1e3 * seconds / calls:>10.3f} ms each'
    )
    yield from _children(path, tree, total)
  rest = tree[parent]['seconds'] - sum(n['seconds'] for n in children.values())
  name = indent + _REST.get(parent, 'all else')
  yield f'{name:<28}{rest:>8.1f} s{rest / total:>7.1%}'
