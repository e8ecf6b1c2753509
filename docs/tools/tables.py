"""The tables in docs/ that the code decides: written into the pages.

  python -m docs.tools.tables [--check]

A page has them between `<!-- made by docs/tools/tables.py: NAME -->` and
`<!-- end -->`, so that they can be read on a code host too. With `--check`
nothing is written, and the exit code is 1 if a page is out of date.
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
  """Yields each page that differs from the code, and its text as it must be."""
  for path in sorted(_DOCS.rglob('*.md')):
    text = path.read_text()
    renewed = _BLOCK.sub(lambda m: f'{m[1]}\n{_TABLES[m[2]]()}\n\n{m[3]}', text)
    if renewed != text:
      yield path, renewed


def metrics() -> str:
  """Returns the table of `metric_names`, whose cells take several lines."""
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
  """Returns what the verb `list` prints, as it prints it."""
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
  """Returns a table of the verbs, and the help of each but training's."""
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
  """Returns a table of the flags of training for each of their groups."""
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
  # absl puts the choices of an enumeration in front.
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
  """Renews the pages, or says which are out of date; returns the exit code."""
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
