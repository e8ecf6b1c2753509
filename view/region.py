"""Draws lines at the end of a terminal, over and over, below all other lines.

`rich.live` would hide the cursor, which stays hidden if the process is killed.
It would also let every control sequence in other lines through.
"""

import re
from collections.abc import Sequence
from typing import TextIO

# Colours are the only control sequences that are let through.
_COLOUR = re.compile(r'\033\[[\d;:]*m')
_CONTROL = re.compile(
  r'(\033\[[\d;:]*m)'
  r'|\033\[[0-?]*[ -/]*[@-~]'
  r'|\033[\]PX^_][^\007\033]*(?:\007|\033\\)?'
  r'|\033[ -/]*[0-~]?'
  r'|[\000-\010\013-\037\177\200-\237]'
)
_ERASE_LINE, _ERASE_BELOW, _PLAIN = '\033[K', '\033[J', '\033[0m'


class Region:
  """Some lines above the cursor, which stays visible.

  So the terminal works as before, however this process ends.
  """

  def __init__(self, terminal: TextIO):
    self._terminal = terminal
    self._widths: list[int] = []
    self._columns = 0

  def draw(
    self, above: Sequence[str], lines: Sequence[str], columns: int
  ) -> None:
    """Replaces the region, in one write.

    Args:
      above: lines to print above the region for good. The terminal wraps them.
      lines: the region's new lines, each narrower than the terminal.
      columns: the terminal's width.
    """
    if not (above or lines or self._widths):
      return
    parts = [self._to_start(columns)]
    if above or columns != self._columns:
      parts.append(_ERASE_BELOW)
    parts += [f'{clean(line)}\n' for line in above]
    # Lines are overwritten, since a region that is erased first flickers.
    parts += [f'{line}{_ERASE_LINE}\n' for line in lines]
    parts.append(_ERASE_BELOW)
    self._columns = columns
    self._widths = [len(_COLOUR.sub('', line)) for line in lines]
    self._terminal.write(''.join(parts))
    self._terminal.flush()

  def leave(self) -> None:
    """Leaves what is drawn; the next drawing begins below it."""
    self._widths = []

  def _to_start(self, columns: int) -> str:
    """Returns the codes that move the cursor to the region's first line.

    If the terminal has become narrower, it has wrapped the region's lines.
    """
    rows = sum(max(1, -(-width // columns)) for width in self._widths)
    return f'\r\033[{rows}A' if rows else '\r'


def clean(line: str) -> str:
  """Returns a line without codes that move the cursor or change modes."""
  # A terminal shows only what follows the last return to the line's start.
  line = line.rstrip('\r').rpartition('\r')[2]
  line = _CONTROL.sub(lambda match: match[1] or '', line)
  return f'{line}{_PLAIN}' if '\033' in line else line
