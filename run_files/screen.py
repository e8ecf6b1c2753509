"""Makes text safe to show on a terminal or a page."""

import sys
from typing import IO

_KEPT = frozenset('\n\t')


def plain(text: str) -> str:
  r"""Returns text without characters that do more than be read.

  A terminal would obey control characters, and some characters reorder or hide
  text. These are replaced by their escapes, as in `\x1b[2J`.
  """
  if text.isprintable():
    return text
  return ''.join(
    character
    if character.isprintable() or character in _KEPT
    else character.encode('unicode_escape').decode()
    for character in text
  )


def show(text: object, end: str = '\n', file: IO[str] | None = None) -> None:
  """Prints text that may come from a run directory.

  Args:
    text: is shown as `plain` returns it.
    end: what follows the text.
    file: where to print; None is standard output.
  """
  print(plain(str(text)), end=end, file=file or sys.stdout, flush=True)


def duration(seconds: float) -> str:
  """Returns a duration as in `42 s`, `3:07` or `1:02:03`."""
  minutes, rest = divmod(int(seconds), 60)
  if not minutes:
    return f'{rest} s'
  hours, minutes = divmod(minutes, 60)
  if not hours:
    return f'{minutes}:{rest:02}'
  return f'{hours}:{minutes:02}:{rest:02}'
