"""From the pipes of tasks to lines on a terminal and in files."""

import collections
import contextlib
import functools
import os
import queue
import selectors
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO

from backends.supervision import log_file
from system import limits, line_reader, streams

# Called with a task's label, its index, and a line without its end.
OnLine = Callable[[str, int, str], None]

_POLL_SECS = 0.05
_HEAD_LINES, _TAIL_LINES = 15, 25
_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)


class Printer:
  """Prints lines, each behind the name of its task."""

  def __init__(
    self, stream: IO[str] | None = None, coloured: bool | None = None
  ):
    """Prints to a stream.

    Args:
      stream: by default what is standard output at the time.
      coloured: whether the names are; by default if the stream takes colours.
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


def shorten(lines: Sequence[str], path: str | None) -> list[str]:
  """Returns the first and the last lines, and says what is between them.

  Args:
    lines: of a traceback, whose head names the fault and whose end its place,
      or the other way about.
    path: of the file that has all of them, if there is one.
  """
  left_out = len(lines) - _HEAD_LINES - _TAIL_LINES
  if left_out <= 1:
    return list(lines)
  where = f', which are in {path}' if path else ''
  note = f'(... {left_out} lines{where} ...)'
  return [*lines[:_HEAD_LINES], note, *lines[-_TAIL_LINES:]]


class TaskLog:
  """Where the lines of one task go.

  Attributes:
    path: of the file that has all lines, if there is one.
    refusals: the first line that says that the task was refused a thread.
  """

  def __init__(self, label: str, index: int, sink: 'Sink', path: str | None):
    self.refusals: list[str] = []
    self._label = label
    self._index = index
    self._sink = sink
    self._file = path and log_file.LogFile(
      path, lambda text: sink.put(label, index, text)
    )
    self._tail = collections.deque(maxlen=_TAIL_LINES + 1)

  @property
  def path(self) -> str | None:
    return self._file.path if self._file else None

  @property
  def tail(self) -> list[str]:
    """Its last lines, and where those before are: for the report of a crash."""
    lines = list(self._tail)
    if len(lines) <= _TAIL_LINES:
      return lines
    note = [f'(... what came before is in {self.path})'] if self.path else []
    return [*note, *lines[1:]]

  def write(self, lines: list[str]) -> None:
    for line in lines:
      if not self.refusals and limits.is_sign(line):
        self.refusals.append(line)
      self._tail.append(line)
      self._sink.put(self._label, self._index, line)
    if self._file and lines:
      self._file.write(lines)

  def close(self) -> None:
    if self._file:
      self._file.close()


class Logs:
  """The logs of all tasks of a run."""

  def __init__(self, directory: str | None, sink: 'Sink'):
    """Makes the folder if there is none; without one there are no files."""
    self._directory = directory
    self._sink = sink
    self._open: list[TaskLog] = []
    if directory is not None:
      os.makedirs(directory, exist_ok=True)

  def open(self, label: str, index: int, stem: str) -> TaskLog:
    """Returns the log of a task, which goes on in the file `<stem>.log`."""
    path = None
    if self._directory is not None:
      path = os.path.join(self._directory, f'{stem}.log')
    log = TaskLog(label, index, self._sink, path)
    self._open.append(log)
    return log

  def close(self) -> None:
    for log in self._open:
      log.close()


class Readers:
  """Takes lines from the pipes of all tasks to their logs."""

  def __init__(self, selector: selectors.BaseSelector):
    """Reads when `selector` says so: its keys' data is what to call."""
    self._selector = selector
    self._open: dict[line_reader.LineReader, TaskLog] = {}

  def add(self, reader: line_reader.LineReader, log: TaskLog) -> None:
    self._open[reader] = log
    self._selector.register(
      reader, selectors.EVENT_READ, functools.partial(self.read, reader)
    )

  def read(self, reader: line_reader.LineReader) -> None:
    """Takes what there is now."""
    # It may have been closed since, in this turn of the selector's.
    if reader in self._open:
      self._open[reader].write(reader.read())
      if reader.closed:
        self._close(reader)

  def close(self) -> None:
    """Takes what is left."""
    for reader in list(self._open):
      self._close(reader)

  def _close(self, reader: line_reader.LineReader) -> None:
    self._selector.unregister(reader)
    self._open.pop(reader).write(reader.close())


class Sink:
  """Calls `on_line` in a thread of its own.

  A terminal that is stopped, or a slow callback, then holds up neither the
  tasks nor their supervision. What does not fit the queue is counted, and the
  count printed; the tasks' files have every line.
  """

  def __init__(self, on_line: OnLine, on_error: Callable[[], None]):
    """Starts the thread.

    Args:
      on_line: takes the lines.
      on_error: called once, from the thread, when `on_line` raises; `error`
        then holds what it raised.
    """
    self._on_line = on_line
    self._on_error = on_error
    # Items are what `on_line` takes, and how many lines they stand for.
    self._queue = queue.Queue(maxsize=10_000)
    self._dropped = 0
    self.error: Exception | None = None
    self._thread = threading.Thread(target=self._run, name='lines', daemon=True)
    self._thread.start()

  def put(self, label: str, index: int, text: str) -> None:
    try:
      self._put_count(label, index)
      self._queue.put_nowait(((label, index, text), 1))
    except queue.Full:
      self._dropped += 1

  def close(self, timeout: float) -> None:
    """Waits for the lines put so far to be taken.

    Afterwards `on_line` is called no more, whatever is left.

    Args:
      timeout: in seconds. What is not taken by then is dropped, and there is as
        long again for the count of it.
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
