"""Shows a run while it goes on: the view on a terminal, else plain lines."""

import contextlib
import os
import pathlib
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Protocol, TextIO

from system import streams
from view import capture, frame, gather, region

_POLL_SECONDS = 0.1
_DRAW_SECONDS = 0.5
# Seconds to wait for the view's thread at the end. The thread may wait for the
# terminal, and must not delay the end of the run.
_END_SECONDS = 5.0


class Printer(Protocol):
  """Prints the lines of a run's tasks.

  Attributes:
    rows: whether it prints rows of metrics, too.
  """

  rows: bool


@contextlib.contextmanager
def show(
  run_dir: pathlib.Path, goal: frame.Goal, printer: Printer
) -> Iterator[None]:
  """Shows this process's run while the body runs, if the terminal can draw.

  Args:
    run_dir: the run directory.
    goal: what the run is, and when it ends.
    printer: prints the tasks' lines to standard output. It prints no rows of
      metrics while the view shows them.
  """
  if not _can_draw(sys.stdout):
    yield
    return
  with View(run_dir, goal, printer):
    yield


def _can_draw(stream: TextIO) -> bool:
  """Returns whether a view can be drawn there, in the foreground."""
  return (
    streams.takes_controls(stream)
    and stream.encoding.lower().replace('-', '') == 'utf8'
    and _in_foreground(stream.fileno())
  )


def _in_foreground(terminal: int) -> bool:
  """Returns whether this process is in its shell's foreground."""
  try:
    return os.tcgetpgrp(terminal) == os.getpgrp()
  except OSError:  # No shell controls this terminal.
    return True


class View:
  """Draws the view at the end of the terminal, in a thread.

  Other lines that this process writes there appear above it.
  """

  def __init__(self, run_dir: pathlib.Path, goal: frame.Goal, printer: Printer):
    """See `show`."""
    self._run_dir = run_dir
    self._goal = goal
    self._printer = printer
    self._closed = threading.Event()
    self._asked_to_suspend = False
    self._on_suspend_before = None
    self._lines: list[str] = []
    self._drawn_at = float('-inf')
    self._size = None
    self._is_left = False
    self._thread = threading.Thread(target=self._show, name='view', daemon=True)

  def __enter__(self) -> 'View':
    self._printer.rows = False
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
      self._on_suspend_before = signal.signal(signal.SIGTSTP, self._on_suspend)
    self._capture = capture.Capture()
    self._region = region.Region(self._capture.terminal)
    self._thread.start()
    return self

  def __exit__(self, *_) -> None:
    self._closed.set()
    self._thread.join(_END_SECONDS)
    if self._on_suspend_before is not None:
      signal.signal(signal.SIGTSTP, self._on_suspend_before)

  def _on_suspend(self, signum: int, frame: object) -> None:
    # The view's thread suspends the process, since the main thread, which
    # supervises the run, must not wait for a terminal.
    del signum, frame
    self._asked_to_suspend = True

  def _show(self) -> None:
    error = ''
    try:
      with contextlib.closing(
        gather.Gatherer(self._run_dir, self._goal)
      ) as now:
        self._draw_until_closed(now)
    except Exception:
      # An error in the view must neither end the run nor hide its lines.
      error = traceback.format_exc() + 'The view has ended; the run goes on.\n'
      self._printer.rows = True
    rest = ''.join(f'{region.clean(line)}\n' for line in self._capture.end())
    self._capture.terminal.write(f'{rest}{error}')
    self._capture.terminal.close()

  def _draw_until_closed(self, gatherer: gather.Gatherer) -> None:
    while not self._closed.wait(_POLL_SECONDS):
      above = self._capture.read()
      # If the run has failed, the cause comes next, below the last view.
      if above and not self._is_left and gatherer.has_ended():
        self._leave(gatherer)
      self._step(gatherer, above)
    if gatherer.has_ended() and not self._is_left:
      self._leave(gatherer)
    self._draw([])

  def _step(self, gatherer: gather.Gatherer, above: list[str]) -> None:
    if self._asked_to_suspend:
      self._asked_to_suspend = False
      self._draw(above)
      os.kill(os.getpid(), signal.SIGSTOP)
    elif self._is_left:
      self._draw(above)
    elif not _in_foreground(self._capture.terminal.fileno()):
      self._region.leave()
      self._draw(above)
    else:
      size, now = self._capture.size(), time.monotonic()
      due = now - self._drawn_at >= _DRAW_SECONDS or size != self._size
      if due:
        self._size, self._drawn_at = size, now
        self._lines = self._render(gatherer)
      if due or above:
        self._draw(above, self._lines)

  def _leave(self, gatherer: gather.Gatherer) -> None:
    """Draws the view for the last time, and leaves it on the terminal."""
    self._draw([], [*self._render(gatherer), ''])
    self._region.leave()
    self._is_left = True

  def _draw(self, above: list[str], lines: Sequence[str] = ()) -> None:
    self._region.draw(above, lines, self._capture.size()[0])

  def _render(self, gatherer: gather.Gatherer) -> list[str]:
    # Imported here, since a run without a view does not need it.
    from rich import console

    from view import page

    columns, rows = self._capture.size()
    canvas = console.Console(file=self._capture.terminal, width=columns)
    with canvas.capture() as drawn:
      # The last column stays free, since a terminal wraps a line that fills it.
      # The last line stays free for the cursor.
      for line in page.render(gatherer.look(), columns - 1, rows - 1):
        canvas.print(line, soft_wrap=True)
    return drawn.get().splitlines()
