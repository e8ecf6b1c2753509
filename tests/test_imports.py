"""Tests the rules of the code's layout: imports go down, and files are short.

All imports count: those at the top of a file, in a function, and for the type
checker alone.
"""

import ast
import configparser
import functools
import graphlib
import pathlib
from collections.abc import Iterator, Mapping

import pytest

_ROOT = pathlib.Path(__file__).parents[1]

_GROUND = ('compat', 'system', 'run_files', 'reverb_wire')
_FLOOR = (*_GROUND, 'rpc', 'container', 'replay')
_GRAPH = (*_FLOOR, 'nodes', 'reporting', 'programs')
# The other folders that each folder may import.
_BELOW = {
  **dict.fromkeys(_GROUND, ()),
  'tools': (),
  'rpc': _GROUND,
  'container': _GROUND,
  'replay': _GROUND,
  # It knows programs, tasks and machines, but no reinforcement learning.
  'backends': ('compat', 'system', 'run_files', 'rpc'),
  'nodes': _FLOOR,
  'reporting': (*_GROUND, 'rpc', 'container', 'nodes'),
  'watchdog': ('system', 'run_files', 'reverb_wire', 'rpc'),
  'view': ('system', 'run_files', 'reverb_wire', 'reporting', 'watchdog'),
  'programs': _GRAPH[:-1],
  'policies': _GRAPH,
  'cli': (*_GRAPH, 'policies', 'backends', 'view', 'watchdog', 'tools'),
  'launch': ('cli', 'programs', 'backends', 'run_files', 'system', 'tools'),
  'benchmarks': (*_GRAPH, 'policies', 'watchdog'),
  'docs': (*_GRAPH, 'cli'),
}

_MAX_FILES, _MAX_LINES, _MAX_FUNCTION_LINES = 15, 300, 50


def _paths() -> list[pathlib.Path]:
  """Returns the paths of all code and tests, relative to the repository."""
  paths = [_ROOT / 'launch.py']
  for folder in (*_BELOW, 'tests'):
    paths += (_ROOT / folder).rglob('*.py')
  return [path.relative_to(_ROOT) for path in paths]


@functools.cache
def _trees() -> Mapping[pathlib.Path, ast.Module]:
  return {path: ast.parse((_ROOT / path).read_text()) for path in _paths()}


def _module(path: pathlib.Path) -> str:
  return '.'.join(path.with_suffix('').parts).removesuffix('.__init__')


def _folder(path: pathlib.Path) -> str:
  return path.parent.as_posix()


@functools.cache
def _imports() -> Mapping[pathlib.Path, set[pathlib.Path]]:
  """Returns the files of this repository that each file imports."""
  paths = {_module(path): path for path in _trees()}
  imports = {}
  for path, tree in _trees().items():
    names = {name for node in ast.walk(tree) for name in _names(node, paths)}
    imports[path] = {paths[name] for name in names if name in paths} - {path}
  return imports


def _names(node: ast.AST, modules: Mapping[str, object]) -> Iterator[str]:
  """Yields the names of the modules that a statement imports.

  Args:
    node: any node of a file's syntax tree.
    modules: has the names of this repository's modules as keys.
  """
  if isinstance(node, ast.Import):
    yield from (alias.name for alias in node.names)
  elif isinstance(node, ast.ImportFrom):
    assert not node.level, 'an import names its module from the root'
    for alias in node.names:
      submodule = f'{node.module}.{alias.name}'
      yield submodule if submodule in modules else node.module


def _edges() -> list[tuple[pathlib.Path, pathlib.Path]]:
  """Returns a pair of files, importer and imported, for each import."""
  return [
    (importer, imported)
    for importer, every in _imports().items()
    for imported in every
  ]


def test_imports_go_down():
  wrong = []
  for importer, imported in _edges():
    upper, lower = (_module(p).split('.')[0] for p in (importer, imported))
    # A test may import everything, and only tests import tests.
    if upper not in (lower, 'tests') and lower not in _BELOW[upper]:
      wrong.append(f'{importer} imports {imported}')
  assert not wrong


def test_imports_within_backends_go_down():
  layers = ('process', 'supervision', 'cluster')
  wrong = []
  for importer, imported in _edges():
    if importer.parts[0] == imported.parts[0] == 'backends':
      upper, lower = importer.parts[1], imported.parts[1]
      # Each backend is a folder, which may import all layers.
      if upper in layers and lower not in layers[: layers.index(upper) + 1]:
        wrong.append(f'{importer} imports {imported}')
  assert not wrong


@pytest.mark.parametrize('kind', ['files', 'folders'])
def test_imports_have_no_circle(kind):
  graph = {}
  for importer, imported in _edges():
    if kind == 'folders':
      importer, imported = _folder(importer), _folder(imported)
    if importer != imported:
      graph.setdefault(importer, set()).add(imported)
  # This raises an error that names the circle.
  graphlib.TopologicalSorter(graph).prepare()


def test_no_folder_has_too_many_files():
  folders = [_folder(path) for path in _paths()]
  crowded = {f for f in folders if folders.count(f) > _MAX_FILES}
  assert not crowded


def test_no_file_is_too_long():
  long = {
    path.as_posix()
    for path in _paths()
    if len((_ROOT / path).read_text().splitlines()) > _MAX_LINES
  }
  assert not long


def test_no_function_is_too_long():
  long = {
    f'{path}: {node.name}'
    for path, tree in _trees().items()
    if 'tests' not in path.parts
    for node in ast.walk(tree)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    and node.end_lineno - node.lineno >= _MAX_FUNCTION_LINES
  }
  assert not long


def test_every_folder_of_code_is_installed():
  config = configparser.ConfigParser()
  config.read(_ROOT / 'setup.cfg')
  installed = config['options.packages.find']['include'].split()
  folders = {*_BELOW} - {'launch', 'benchmarks', 'docs'}
  assert {name.rstrip('*') for name in installed} == folders
