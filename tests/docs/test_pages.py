"""Tests the size of the README, and links and tables in all pages."""

import pathlib
import re

import pytest

from docs.tools import tables

_ROOT = pathlib.Path(__file__).parents[2]
_PAGES = [
  _ROOT / 'README.md',
  _ROOT / 'CONTRIBUTING.md',
  *sorted((_ROOT / 'docs').rglob('*.md')),
]


def test_the_readme_is_short():
  lines = (_ROOT / 'README.md').read_text().splitlines()
  assert len(lines) <= 150
  assert max(map(len, lines)) <= 120


def test_the_readmes_examples_are_short():
  readme = (_ROOT / 'README.md').read_text()
  examples = re.findall(r'```python\n(.*?)```', readme, re.DOTALL)
  assert len(examples) == 2
  assert all(len(example.splitlines()) <= 25 for example in examples)


@pytest.mark.parametrize('name', ['own_environment', 'own_agent'])
def test_a_page_has_the_readmes_example(name):
  """The page may have more blank lines. tests/e2e runs the example."""
  pages = [_ROOT / 'README.md', _ROOT / 'docs' / f'{name}.md']
  readme, page = (p.read_text().replace('\n\n', '\n') for p in pages)
  examples = re.findall(r'```python\n(.*?)```', readme, re.DOTALL)
  assert any(example in page.replace('\n\n', '\n') for example in examples)


def test_tables_are_as_the_code_has_them():
  assert [path.name for path, _ in tables.outdated()] == []


@pytest.mark.parametrize('page', _PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_exists(page):
  targets = re.findall(r'\]\(([^)\s#:]+)(?:#[^)\s]*)?\)', page.read_text())
  missing = [t for t in targets if not (page.parent / t).exists()]
  assert missing == []
