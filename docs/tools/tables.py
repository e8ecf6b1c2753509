"""Writes the tables that are made from the code into the pages of docs/.

  python -m docs.tools.tables [--check]

In a page, a table is between `<!-- made by docs/tools/tables.py: NAME -->` and
`<!-- end -->`, so that it can be read on a code host too. With `--check` no
page is written, and the exit code is 1 if a page is out of date.
"""

import argparse
import functools
import importlib
import pathlib
import re
import sys
from collections.abc import Iterator

from absl import flags

from cli import command, training_flags
from programs import agents
from programs.agents import listing
from run_files import metric_names

_DOCS = pathlib.Path(__file__).parents[1]
_BLOCK = re.compile(
  r'(<!-- made by docs/tools/tables.py: (\w+) -->\n).*?(<!-- end -->)',
  re.DOTALL,
)


def outdated() -> Iterator[tuple[pathlib.Path, str]]:
  """Yields each page whose tables are out of date, and its new text."""
  for path in sorted(_DOCS.rglob('*.md')):
    text = path.read_text()
    renewed = _BLOCK.sub(lambda m: f'{m[1]}\n{_TABLES[m[2]]()}\n\n{m[3]}', text)
    if renewed != text:
      yield path, renewed


def metrics() -> str:
  """Returns the table in the docstring of `metric_names` as Markdown.

  There, a cell may go on over several lines; here, each row is one line.
  """
  rows: list[list[str]] = []
  for line in metric_names.__doc__.splitlines():
    if not line.startswith('| ') or line.startswith('| name '):
      continue
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    if cells[0]:
      rows.append(cells)
    else:
      rows[-1][-1] += f' {cells[-1]}'
  return _markdown(
    ['metric', 'unit', 'meaning'],
    [[f'`{name}`', unit, meaning] for name, unit, meaning in rows],
  )


def agents_list() -> str:
  """Returns the output of the verb `list` as a block of text."""
  return '```text\n' + listing.text() + '\n```'


def agents_settings() -> str:
  """Returns a table of the settings of each agent."""
  return '\n\n'.join(
    f'### {agent}\n\n'
    + _markdown(
      ['setting', 'type', 'default', 'meaning'],
      [
        [f'`{row.name}`', row.type, f'`{row.default}`', row.meaning]
        for row in listing.settings(agent)
      ],
    )
    for agent in agents.AGENTS
  )


def verbs() -> str:
  """Returns a table of the verbs, and the help of each but `train`."""
  rows = [[f'`{name}`', text] for name, text in command.VERBS.items()]
  helps = [_help(name) for name in command.VERBS if name != 'train']
  return '\n\n'.join([_markdown(['verb', 'what it does'], rows), *helps])


def _help(verb: str) -> str:
  module = importlib.import_module(f'cli.verbs.{verb.replace("-", "_")}')
  parser = argparse.ArgumentParser(
    prog=f'launch.py {verb}',
    description=module.__doc__,
    formatter_class=functools.partial(argparse.HelpFormatter, width=78),
  )
  module.add_arguments(parser)
  return f'### {verb}\n\n```text\n{parser.format_help().rstrip()}\n```'


def training() -> str:
  """Returns a table of the flags of training for each group of flags."""
  return '\n\n'.join(
    f'### {title[0].upper()}{title[1:]}\n\n'
    + _markdown(
      ['flag', 'default', ''],
      [_flag(each) for each in group],
    )
    for title, group in training_flags.GROUPS.items()
  )


def _flag(flag: flags.Flag) -> list[str]:
  default = (flag.default_as_str or '').strip("'")
  if flag.boolean:
    default = ''
  # absl puts the choices of an enum flag in front of its help.
  choices, separator, text = flag.help.partition('>: ')
  if separator:
    text = f'{text} One of {choices.strip("<").replace("|", ", ")}.'
  else:
    text = flag.help
  return [f'`--{flag.name}`', f'`{default}`' if default else '', text]


def _markdown(header: list[str], rows: list[list[str]]) -> str:
  lines = [header, ['---'] * len(header), *rows]
  return '\n'.join(f'| {" | ".join(cells)} |' for cells in lines)


_TABLES = {
  'agents': agents_list,
  'metrics': metrics,
  'settings': agents_settings,
  'training': training,
  'verbs': verbs,
}


def main() -> int:
  """Renews the pages, or prints which are out of date.

  Returns:
    The exit code.
  """
  pages = list(outdated())
  if '--check' in sys.argv[1:]:
    for path, _ in pages:
      print(f'{path} is out of date; `make docs` renews it', file=sys.stderr)
    return bool(pages)
  for path, text in pages:
    path.write_text(text)
  return 0


if __name__ == '__main__':
  sys.exit(main())
