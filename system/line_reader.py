"""Reads whole lines from a pipe without waiting for them."""

import os

_MAX_LINE_BYTES = 1 << 16


class LineReader:
  """Splits the output of a pipe into lines.

  A line of more than 64 KiB is cut, so that the output of a process that never
  ends its line is shown, too.

  Attributes:
    closed: whether all writers have closed the pipe, or `close` was called.
  """

  def __init__(self, descriptor: int):
    """Takes over the reading end of a pipe, by its file descriptor."""
    os.set_blocking(descriptor, False)
    self._descriptor = descriptor
    self._rest = b''
    self.closed = False

  def fileno(self) -> int:
    return self._descriptor

  def read(self) -> list[str]:
    """Returns the whole lines so far; at the pipe's end, also the last part."""
    chunks = [self._rest]
    size = len(self._rest)
    while size < _MAX_LINE_BYTES:
      try:
        chunk = os.read(self._descriptor, _MAX_LINE_BYTES)
      except BlockingIOError:
        break
      if not chunk:
        self.closed = True
        break
      chunks.append(chunk)
      size += len(chunk)
    *lines, self._rest = b''.join(chunks).split(b'\n')
    if self._rest and (self.closed or len(self._rest) >= _MAX_LINE_BYTES):
      lines.append(self._rest)
      self._rest = b''
    return [line.decode(errors='replace').rstrip('\r') for line in lines]

  def close(self) -> list[str]:
    """Closes the pipe; returns the lines left in it, also one without end."""
    lines = self.read()
    if self._rest:
      lines.append(self._rest.decode(errors='replace'))
    os.close(self._descriptor)
    self.closed = True
    return lines
