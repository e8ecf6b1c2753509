"""Prints the lines of tasks. A slow terminal does not delay the supervision."""

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

from system import streams

# Called with a task's label, its index, and a line without its newline.
OnLine = Callable[[str, int, str], None]

_POLL_SECS = 0.05
_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)


class Printer:
  """Prints lines, each with the name of its task before it."""

  def __init__(
    self, stream: IO[str] | None = None, coloured: bool | None = None
  ):
    """Prints to a stream.

    Args:
      stream: the stream; None for `sys.stdout`, looked up for each line.
      coloured: whether the names are coloured; None to colour them if the
        stream supports colours.
    """
    self._stream = stream
    self._coloured = coloured
    self._colours = {}

  def __call__(self, label: str, index: int, text: str) -> None:
    stream = self._stream or sys.stdout
    prefix = f'[{label}/{index}] '
    text = text.removeprefix(prefix)
    coloured = self._coloured
    if streams.takes_colours(stream) if coloured is None else coloured:
      next_colour = _COLOURS[len(self._colours) % len(_COLOURS)]
      colour = self._colours.setdefault(label, next_colour)
      prefix = f'\033[{colour}m{prefix}\033[0m'
    stream.write(f'{prefix}{text}\n')
    stream.flush()


class Sink:
  """Calls `on_line` in a separate thread.

  So a terminal that is paused, or a slow callback, delays neither the tasks nor
  their supervision. If the queue is full, lines are dropped and counted, and
  the count is printed later. The tasks' log files have every line.

  Attributes:
    error: the exception that `on_line` raised; None if it has raised none.
  """

  def __init__(self, on_line: OnLine, on_error: Callable[[], None]):
    """Starts the thread.

    Args:
      on_line: called with each line.
      on_error: called once, in the thread, when `on_line` has raised an
        exception; `error` then holds it.
    """
    self._on_line = on_line
    self._on_error = on_error
    # An item holds the arguments of `on_line` and a number of lines: 1, or for
    # the note about dropped lines, how many were dropped.
    self._queue = queue.Queue(maxsize=10_000)
    self._dropped = 0
    self.error: Exception | None = None
    self._thread = threading.Thread(target=self._run, name='lines', daemon=True)
    self._thread.start()

  def put(self, label: str, index: int, text: str) -> None:
    """Queues a line to be printed, and returns at once."""
    try:
      self._put_count(label, index)
      self._queue.put_nowait(((label, index, text), 1))
    except queue.Full:
      self._dropped += 1

  def close(self, timeout: float) -> None:
    """Waits until all queued lines are printed, and ends the thread.

    After that, `on_line` is not called any more.

    Args:
      timeout: seconds to wait. Lines that are not printed by then are dropped.
        Then it waits up to the same time again, to print how many lines were
        dropped.
    """
    self._thread_ends_within(timeout)
    if self._thread.is_alive():
      self._drop_all()
      self._thread_ends_within(timeout)
    self._drop_all()
    self._queue.put(None)

  def _put_count(self, label: str, index: int) -> None:
    if self._dropped:
      note = f'({self._dropped} lines not shown: the terminal is too slow)'
      self._queue.put_nowait(((label, index, note), self._dropped))
      self._dropped = 0

  def _thread_ends_within(self, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while self._thread.is_alive() and time.monotonic() < deadline:
      try:
        self._put_count('launcher', 0)
        self._queue.put_nowait(None)
        break
      except queue.Full:
        time.sleep(_POLL_SECS)
    self._thread.join(max(deadline - time.monotonic(), 0.0))

  def _drop_all(self) -> None:
    with contextlib.suppress(queue.Empty):
      while True:
        item = self._queue.get_nowait()
        self._dropped += item[1] if item else 0

  def _run(self) -> None:
    while (item := self._queue.get()) is not None:
      if self.error is None:
        try:
          self._on_line(*item[0])
        except Exception as e:
          self.error = e
          self._on_error()
