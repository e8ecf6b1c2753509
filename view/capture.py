"""Catches what this process writes to its terminal."""

import contextlib
import faulthandler
import fcntl
import os
import sys

from system import line_reader, streams

# Bytes that can be written between two reads before a writer has to wait.
_PIPE_BYTES = 1 << 20
_STANDARD = (1, 2)


class Capture:
  """Puts a pipe in the terminal's place, for Python and for libraries in C.

  Attributes:
    terminal: a stream that still leads to the terminal.
  """

  def __init__(self):
    sys.stdout.flush()
    sys.stderr.flush()
    self._saved = {fd: os.dup(fd) for fd in _STANDARD if os.isatty(fd)}
    # Lenient, since the terminal may be closed while the run goes on.
    self.terminal = streams.open_lenient(os.dup(1), closefd=True)
    reader, writer = os.pipe()
    with contextlib.suppress(OSError):
      fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    for fd in self._saved:
      os.dup2(writer, fd)
    os.close(writer)
    self._reader = line_reader.LineReader(reader)
    # When this process crashes, nothing reads the pipe any more.
    if faulthandler.is_enabled():
      faulthandler.enable(self.terminal)

  def size(self) -> tuple[int, int]:
    """Returns the terminal's columns and rows; 80 and 24 if it has no size."""
    columns, rows = os.get_terminal_size(self.terminal.fileno())
    return columns or 80, rows or 24

  def read(self) -> list[str]:
    """Returns the whole lines written since the last call."""
    return self._reader.read()

  def end(self) -> list[str]:
    """Gives the terminal back; returns the lines that were not read yet."""
    # Read before `flush`, which would wait for a thread that waits for room in
    # the pipe.
    lines = self._read_all()
    sys.stdout.flush()
    sys.stderr.flush()
    for fd, saved in self._saved.items():
      os.dup2(saved, fd)
      os.close(saved)
    if faulthandler.is_enabled():
      faulthandler.enable(sys.__stderr__)
    return lines + self._read_all() + self._reader.close()

  def _read_all(self) -> list[str]:
    lines = []
    while more := self._reader.read():
      lines += more
    return lines
