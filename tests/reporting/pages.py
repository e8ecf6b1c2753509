"""Reads the page of a report."""

import html.parser
import re


class Page(html.parser.HTMLParser):
  """A report as its reader sees it.

  Attributes:
    source: the HTML.
    tags: the names of all elements.
    figures: the HTML of each figure, by its name and axes.
    tables: the text of each table's cells, by rows.
  """

  def __init__(self, path):
    super().__init__()
    self.tables, self.figures, self.tags, self._in = [], {}, set(), []
    self.source = path.read_text()
    self.feed(self.source)
    self.tables = [
      [[' '.join(cell.split()) for cell in row] for row in table]
      for table in self.tables
    ]
    for part in re.findall('<figure>.*?</figure>', self.source, re.DOTALL):
      name = re.search('aria-label="([^"]*)"', part).group(1)
      self.figures[name] = part

  def handle_starttag(self, tag, attrs):
    self.tags.add(tag)
    self._in.append(tag)
    if tag == 'table':
      self.tables.append([])
    elif tag == 'tr':
      self.tables[-1].append([])
    elif tag in ('th', 'td'):
      self.tables[-1][-1].append('')
    elif tag == 'small':
      # It begins a line of its own.
      self.handle_data(' ')

  def handle_endtag(self, tag):
    while self._in and self._in.pop() != tag:
      pass

  def handle_data(self, data):
    if {'td', 'th'} & set(self._in):
      self.tables[-1][-1][-1] += data
