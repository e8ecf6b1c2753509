"""How the launcher prints the lines of a run's tasks."""

import sys

from backends.supervision import launcher, output
from run_files import metric_names
from view import region

_REVERB_NOTES = '[reverb/cc/'


class Printer(output.Printer):
  """Prints the tasks' lines, except those in which Reverb names its ports.

  The logs have all lines. On a terminal, a line is printed with its colours but
  without any other control sequence.

  Attributes:
    rows: whether rows of metrics are printed.
  """

  def __init__(
    self,
    rows: bool = True,
    coloured: bool | None = None,
    quiet: bool = False,
  ):
    """Prints to standard output.

    Args:
      rows: whether rows of metrics are printed at first.
      coloured: as in `output.Printer`.
      quiet: whether to leave out the line which says that a run stops because
        it has made its steps.
    """
    super().__init__(coloured=coloured)
    self.rows = rows
    stop_notes = (launcher.STOP_CALLED,) if quiet else ()
    self._left_out = (_REVERB_NOTES, *stop_notes)

  def __call__(self, label: str, index: int, text: str) -> None:
    is_row = text.startswith(metric_names.row_prefix(label, index))
    if text.startswith(self._left_out) or (is_row and not self.rows):
      return
    if sys.stdout.isatty():
      text = region.clean(text)
    super().__call__(label, index, text)
