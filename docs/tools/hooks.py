"""Hooks of mkdocs, which make pages from other files than Markdown in docs/.

- The README becomes the front page, and CONTRIBUTING.md becomes a page too.
- Each package gets a page with the docstrings of its modules.
- A link to a source file, which works on a code host, leads to its package's
  page on the site.
- A notebook becomes a page of text, code and output. (The plugins that do this
  need forty more packages, and load MathJax from the network.)
- `make docs` fails if a link leads to a file that does not exist, or if a page
  would load anything from the network.
"""

import ast
import functools
import json
import logging
import pathlib
import posixpath
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure import files as files_lib
from mkdocs.structure import pages as pages_lib

_ROOT = pathlib.Path(__file__).parents[2]
_WITHOUT_API = {'benchmarks', 'tests', 'tools'}
# [text](target) and [text](target#anchor), but no links to other sites.
_LINK = re.compile(r'\[([^\]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)')
_LOADED = re.compile(
  r'<(?:script|img|iframe|link rel="stylesheet")[^>]*'
  r'(?:src|href)="((?:https?:)?//[^"]+)"'
)
_FROM_THE_TOP = {'README.md': 'index.md', 'CONTRIBUTING.md': 'contributing.md'}
_log = logging.getLogger('mkdocs.hooks.docs')


def on_config(config: MkDocsConfig) -> None:
  """Adds the API's pages to the navigation."""
  pages = ['api/index.md', *(_api_page(package) for package in _packages())]
  config.nav.append({'API': pages})


def on_files(files: files_lib.Files, config: MkDocsConfig) -> files_lib.Files:
  """Adds the pages that are made from other files than Markdown in docs/."""
  made = {page: _from_the_top(name) for name, page in _FROM_THE_TOP.items()}
  made['api/index.md'] = _api_index()
  for package in _packages():
    made[_api_page(package)] = _package_page(package)
  for notebook in [f for f in files if f.src_uri.endswith('.ipynb')]:
    files.remove(notebook)
    page = notebook.src_uri.replace('.ipynb', '.md')
    made[page] = notebook_page(json.loads(notebook.content_string))
  for uri, text in made.items():
    files.append(files_lib.File.generated(config, uri, content=text))
  return files


def on_page_markdown(markdown: str, page: pages_lib.Page, **_) -> str:
  """Replaces links to source files by links to the pages of docstrings."""
  folder = posixpath.dirname(page.file.src_uri)

  def replace(link: re.Match) -> str:
    text, target, anchor = link[1], link[2], link[3] or ''
    path = posixpath.normpath(posixpath.join('docs', folder, target))
    if path.startswith('docs/'):
      return f'[{text}]({target.replace(".ipynb", ".md")}{anchor})'
    if path in _FROM_THE_TOP:
      to = posixpath.relpath(_FROM_THE_TOP[path], folder or '.')
      return f'[{text}]({to}{anchor})'
    if not (_ROOT / path).exists():
      _log.warning('%s: there is no %s', page.file.src_uri, path)
    if path.split('/')[0] not in _packages():
      return text
    to = posixpath.relpath(_api_page(_package_of(path)), folder or '.')
    return f'[{text}]({to}#{_module(path)})'

  return _LINK.sub(replace, markdown)


def on_post_page(output: str, page: pages_lib.Page, **_) -> None:
  """Warns if a page would load anything from the network."""
  for url in _LOADED.findall(output):
    _log.warning('%s would load %s', page.file.src_uri, url)


def notebook_page(notebook: dict) -> str:
  """Returns a notebook as Markdown.

  Args:
    notebook: the parsed JSON of an .ipynb file.
  """
  return '\n\n'.join(
    ''.join(cell['source']) if cell['cell_type'] == 'markdown' else _code(cell)
    for cell in notebook['cells']
  )


def _code(cell: dict) -> str:
  source = ''.join(cell['source'])
  language = 'console' if source.startswith('!') else 'python'
  parts = [f'```{language}\n{source}\n```']
  printed = ''
  for output in cell['outputs']:
    data = output.get('data', {'text/plain': output.get('text', [])})
    if 'image/png' in data:
      image = ''.join(data['image/png']).replace('\n', '')
      parts.append(f'![What the cell draws](data:image/png;base64,{image})')
    else:
      printed += ''.join(data['text/plain'])
  if printed:
    parts.append(f'``` {{ .text .output }}\n{printed.rstrip()}\n```')
  return '\n\n'.join(parts)


@functools.cache
def _packages() -> tuple[str, ...]:
  """Returns the names of all packages with an API page: `backends.ray`."""
  paths = sorted(_ROOT.glob('[a-z]*/**/__init__.py'))
  names = [_module(str(p.parent.relative_to(_ROOT))) for p in paths]
  return tuple(n for n in names if n.split('.')[0] not in _WITHOUT_API)


def _module(path: str) -> str:
  return path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')


def _package_of(path: str) -> str:
  module = _module(path)
  return module if module in _packages() else module.rpartition('.')[0]


def _api_page(package: str) -> str:
  return f'api/{package}.md'


def _api_index() -> str:
  rows = [
    f'| [`{package}`]({package}.md) | {_first_line(package)} |'
    for package in _packages()
  ]
  return '\n'.join(
    ['# API', '', '| package | what it is for |', '|---|---|', *rows]
  )


def _first_line(package: str) -> str:
  source = (_ROOT / package.replace('.', '/') / '__init__.py').read_text()
  return (ast.get_docstring(ast.parse(source)) or '').partition('\n')[0]


def _package_page(package: str) -> str:
  folder = _ROOT / package.replace('.', '/')
  modules = sorted(p.stem for p in folder.glob('[a-z]*.py'))
  # The page's title takes the place of the package's heading.
  parts = [f'# {package}', f'::: {package}\n    options:']
  parts[1] += '\n      show_root_heading: false'
  return '\n\n'.join(parts + [f'::: {package}.{module}' for module in modules])


def _from_the_top(name: str) -> str:
  """Returns the text of a file above docs/, with links relative to docs/."""

  def replace(link: re.Match) -> str:
    target = posixpath.relpath(link[2], 'docs')
    return f'[{link[1]}]({target}{link[3] or ""})'

  return _LINK.sub(replace, (_ROOT / name).read_text())
