"""A self-contained HTML page, for light and dark, phone and desktop."""

import html
from collections.abc import Sequence

from run_files import screen

# The same hues in both schemes, each as light or dark as its background asks.
_STYLE = """
:root { color-scheme: light dark;
  --back: #fcfcfb; --ink: #1b1e24; --faint: #667085; --rule: #dfe3ea;
  --s0: #2a78d6; --s1: #dd5a1f; --s2: #12946a; --s3: #b98300;
  --s4: #d4558b; --s5: #5b49c4; --s6: #5f7d0c; --s7: #cf3b3b; }
@media (prefers-color-scheme: dark) { :root {
  --back: #16181d; --ink: #e7e9ee; --faint: #98a1b2; --rule: #2f343e;
  --s0: #5b9df0; --s1: #f0824f; --s2: #35b98d; --s3: #dba72c;
  --s4: #ec7fae; --s5: #9d8ff5; --s6: #9dbb45; --s7: #f07070; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1320px; padding: 20px 16px 40px;
  background: var(--back); color: var(--ink);
  overflow-wrap: anywhere;
  font: 15px/1.45 system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }
h1 { margin: 0; font-size: 22px; }
h2 { margin: 32px 0 8px; font-size: 17px; }
p { margin: 4px 0 12px; max-width: 90ch; font-size: 13px; }
p, small, figcaption span { color: var(--faint); }
small { display: block; font-size: 12px; font-weight: 400; }
.legend { position: sticky; top: 0; z-index: 1; display: flex;
  flex-wrap: wrap; gap: 2px 18px; max-height: 30vh; overflow: auto;
  margin: 0; padding: 8px 0; list-style: none; background: var(--back);
  border-bottom: 1px solid var(--rule); }
.swatch { display: inline-block; width: 24px; height: 8px; margin-right: 7px;
  vertical-align: middle; }
.figures { display: grid; align-items: end; gap: 22px 28px; margin-top: 12px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-size: 13px; font-weight: 400; }
figure svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--faint); font-size: 12px;
  font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--rule); }
svg .axis { stroke: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 18px 5px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
thead th { color: var(--faint); font-size: 13px; font-weight: 600;
  white-space: nowrap; }
tbody th { font-weight: 600; min-width: 13em; }
td { white-space: nowrap; }
tr:not(.part) th small { padding-left: 31px; }
tr.part > * { color: var(--faint); font-weight: 400; }
tr.part th { padding-left: 31px; }
@media (max-width: 600px) { th, td { padding-right: 12px; }
  tr.part th { padding-left: 12px; } }
.number { text-align: right; }
"""


class Markup(str):
  """HTML that is written as it is; any other text is escaped."""


def escape(text: str) -> Markup:
  """Returns text as HTML that shows it; what is HTML already stays as it is."""
  if isinstance(text, Markup):
    return text
  return Markup(html.escape(screen.plain(text)))


def join(*content: str) -> Markup:
  """Returns content after content."""
  return Markup(''.join(map(escape, content)))


def document(title: str, body: Sequence[str]) -> str:
  """Returns the page, which needs neither scripts nor any other file."""
  return '\n'.join([
    '<!DOCTYPE html>',
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    f'<title>{escape(title)}</title><style>{_STYLE}</style></head><body>',
    *map(escape, body),
    '</body></html>',
    '',
  ])  # fmt: skip


def element(tag: str, *content: str, kind: str = '') -> Markup:
  """Returns an element; `kind` is its class."""
  kind = f' class="{kind}"' if kind else ''
  return Markup(f'<{tag}{kind}>{join(*content)}</{tag}>')


def figure(name: str, axes: str, drawing: Markup) -> Markup:
  """Returns a drawing with its name and, below that, what its axes are."""
  return element(
    'figure', element('figcaption', name, element('span', axes)), drawing
  )


def table(
  head: Sequence[str],
  rows: Sequence[Sequence[str]],
  numbers: Sequence[int] = (),
  parts: Sequence[int] = (),
) -> Markup:
  """Returns a table, whose first column names its rows.

  Args:
    head: of the columns.
    rows: cells by row.
    numbers: the columns that are aligned to the right.
    parts: the rows that tell more of one above.
  """
  kinds = ['number' if i in numbers else '' for i in range(len(head))]
  head = _row(head, ['th'] * len(head), kinds)
  tags = ['th'] + ['td'] * (len(kinds) - 1)
  body = [
    _row(row, tags, kinds, 'part' if i in parts else '')
    for i, row in enumerate(rows)
  ]
  whole = element('table', element('thead', head), element('tbody', *body))
  return element('div', whole, kind='wide')


def _row(
  cells: Sequence[str],
  tags: Sequence[str],
  kinds: Sequence[str],
  kind: str = '',
) -> Markup:
  columns = zip(cells, tags, kinds, strict=True)
  return element(
    'tr', *(element(t, c, kind=k) for c, t, k in columns), kind=kind
  )
