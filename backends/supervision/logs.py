"""Log files for what tasks print. The last lines are also kept in memory."""

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
  """A log file. If its disk is full, the run goes on and still prints lines.

  Attributes:
    path: path of the file.
  """

  def __init__(self, path: str, say: Callable[[str], None]):
    """Does not create the file yet: the first `write` does.

    Args:
      path: path of the file.
      say: called with a line of text when the file cannot be written, and once
        more when it can be written again.
    """
    self.path = path
    self._descriptor: int | None = None
    self._num_missing = 0
    self._patience = patience.Patience(
      path, 'it will lack the lines printed until it can be written again', say
    )

  def write(self, lines: Sequence[str]) -> None:
    """Adds lines to the file. If that fails, it counts them as missing."""
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
  """Prints the lines of one task, writes them to a file, keeps the last ones.

  Attributes:
    path: path of the log file; None if there is no file.
    refusals: the first line which says that the system refused the task a
      thread; empty if there is no such line.
  """

  def __init__(
    self, label: str, index: int, sink: output.Sink, path: str | None
  ):
    """Has no lines yet.

    Args:
      label: the task's label.
      index: the task's index in its label.
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
    """The last lines, for a crash report.

    If there were more lines, the first one names the file that has them.
    """
    lines = list(self._tail)
    if len(lines) <= _TAIL_LINES:
      return lines
    note = [f'(... earlier lines are in {self.path})'] if self.path else []
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
    """Creates the folder for the log files if it does not exist.

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
    """Returns the log of a task. Its lines are added to `<stem>.log`."""
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
  """Reads what all processes of a run print, from one pipe for each."""

  def __init__(self, selector: selectors.BaseSelector):
    """Has no pipes yet.

    Args:
      selector: the selector of the supervisor's loop. When a pipe is readable,
        the loop calls the function that is the data of the pipe's key.
    """
    self._selector = selector
    self._open: dict[line_reader.LineReader, TaskLog] = {}

  def add(self, reader: line_reader.LineReader, log: TaskLog) -> None:
    """Writes the lines of one more pipe to a log from now on."""
    self._open[reader] = log
    self._selector.register(
      reader, selectors.EVENT_READ, functools.partial(self.read, reader)
    )

  def read(self, reader: line_reader.LineReader) -> None:
    """Reads the lines that a pipe has now, and writes them to its log."""
    # The pipe may have been closed since the selector returned.
    if reader in self._open:
      self._open[reader].write(reader.read())
      if reader.closed:
        self._close(reader)

  def close(self) -> None:
    """Writes the remaining lines to the logs, and closes all pipes."""
    for reader in list(self._open):
      self._close(reader)

  def _close(self, reader: line_reader.LineReader) -> None:
    self._selector.unregister(reader)
    self._open.pop(reader).write(reader.close())


def shorten(lines: Sequence[str], path: str | None) -> list[str]:
  """Returns the first and the last lines of a traceback.

  A note between them says how many are left out. Some tracebacks name the error
  in their first lines and its place in their last ones; in others it is the
  other way round. So both ends are kept.

  Args:
    lines: the lines of the traceback.
    path: path of the file that has all lines; None if there is no file.
  """
  left_out = len(lines) - _HEAD_LINES - _TAIL_LINES
  if left_out <= 1:
    return list(lines)
  where = f', which are in {path}' if path else ''
  note = f'(... {left_out} lines{where} ...)'
  return [*lines[:_HEAD_LINES], note, *lines[-_TAIL_LINES:]]
