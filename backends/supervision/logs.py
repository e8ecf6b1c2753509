"""Takes the lines that tasks print to their files, and keeps the last ones."""

import collections
import functools
import os
import selectors
from collections.abc import Callable, Sequence

from backends.supervision import output
from run_files import patience, whole_files
from system import limits, line_reader

_HEAD_LINES, _TAIL_LINES = 15, 25


class LogFile:
  """Adds lines to a file; a full disk must not end a run that can print.

  Attributes:
    path: path of the file.
  """

  def __init__(self, path: str, say: Callable[[str], None]):
    """Creates the file only when the first line is written.

    Args:
      path: path of the file.
      say: called with a line of text when the file cannot be written, and when
        it can be again.
    """
    self.path = path
    self._descriptor: int | None = None
    self._num_missing = 0
    self._patience = patience.Patience(
      path, 'it will lack the lines that come until it can', say
    )

  def write(self, lines: Sequence[str]) -> None:
    """Adds lines; counts them as missing if that fails."""
    with self._patience.attempt():
      if self._descriptor is None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self.path, flags, 0o666)
      note = f'({self._num_missing} lines are missing here)'
      text = '\n'.join([*([note] if self._num_missing else []), *lines, ''])
      whole_files.add(self._descriptor, text.encode(errors='replace'))
      self._num_missing = 0
    if self._patience.error is not None:
      self._num_missing += len(lines)

  def close(self) -> None:
    if self._descriptor is not None:
      os.close(self._descriptor)
      self._descriptor = None


class TaskLog:
  """Passes the lines of one task on, and keeps the last ones.

  Attributes:
    path: path of the file that has all lines; None if there is no file.
    refusals: the first line that says that the task was refused a thread; empty
      if there is none.
  """

  def __init__(
    self, label: str, index: int, sink: output.Sink, path: str | None
  ):
    """Starts without lines.

    Args:
      label: the task's label.
      index: the task's index.
      sink: prints the lines.
      path: path of the file for the lines; None for no file.
    """
    self.refusals: list[str] = []
    self._label = label
    self._index = index
    self._sink = sink
    self._file = path and LogFile(
      path, lambda text: sink.put(label, index, text)
    )
    self._tail = collections.deque(maxlen=_TAIL_LINES + 1)

  @property
  def path(self) -> str | None:
    return self._file.path if self._file else None

  @property
  def tail(self) -> list[str]:
    """The last lines, and where the earlier ones are: for a crash report."""
    lines = list(self._tail)
    if len(lines) <= _TAIL_LINES:
      return lines
    note = [f'(... what came before is in {self.path})'] if self.path else []
    return [*note, *lines[1:]]

  def write(self, lines: list[str]) -> None:
    """Prints lines and adds them to the file."""
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

  def __init__(self, directory: str | None, sink: output.Sink):
    """Makes the folder for the files if it does not exist.

    Args:
      directory: path of the folder; None to keep no files.
      sink: prints the lines of all tasks.
    """
    self._directory = directory
    self._sink = sink
    self._open: list[TaskLog] = []
    if directory is not None:
      os.makedirs(directory, exist_ok=True)

  def open(self, label: str, index: int, stem: str) -> TaskLog:
    """Returns the log of a task, which adds to the file `<stem>.log`."""
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
  """The pipes of all processes of a run."""

  def __init__(self, selector: selectors.BaseSelector):
    """Reads pipes when the selector says that they are ready.

    Args:
      selector: the selector of the supervisor's loop, which calls what its keys
        have as data.
    """
    self._selector = selector
    self._open: dict[line_reader.LineReader, TaskLog] = {}

  def add(self, reader: line_reader.LineReader, log: TaskLog) -> None:
    """Has the lines of one more pipe written to a log."""
    self._open[reader] = log
    self._selector.register(
      reader, selectors.EVENT_READ, functools.partial(self.read, reader)
    )

  def read(self, reader: line_reader.LineReader) -> None:
    """Takes the lines that have come so far."""
    # It may have been closed since the selector returned.
    if reader in self._open:
      self._open[reader].write(reader.read())
      if reader.closed:
        self._close(reader)

  def close(self) -> None:
    """Takes the lines that are left, and closes all pipes."""
    for reader in list(self._open):
      self._close(reader)

  def _close(self, reader: line_reader.LineReader) -> None:
    self._selector.unregister(reader)
    self._open.pop(reader).write(reader.close())


def shorten(lines: Sequence[str], path: str | None) -> list[str]:
  """Returns the first and the last lines, and says how many are left out.

  Args:
    lines: the lines of a traceback. Some name the error at their head and its
      place at their end, others the other way about.
    path: path of the file that has all of them, if there is one.
  """
  left_out = len(lines) - _HEAD_LINES - _TAIL_LINES
  if left_out <= 1:
    return list(lines)
  where = f', which are in {path}' if path else ''
  note = f'(... {left_out} lines{where} ...)'
  return [*lines[:_HEAD_LINES], note, *lines[-_TAIL_LINES:]]
