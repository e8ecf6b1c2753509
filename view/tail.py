"""The rows that a CSV file of metrics gets, as they come."""

import os
import pathlib

from run_files import metric_names, metrics

# Some hundreds of evaluations, for a run that is resumed.
_FIRST_BYTES = 1 << 16
# Actors with short episodes write more rows than anybody can look at.
_BYTES, _ROWS = 1 << 12, 2


class Tail:
  """Reads a file that grows, at a cost that does not grow with it."""

  def __init__(self, path: pathlib.Path):
    self._path = path
    self._header = b''
    self._inode = None
    self._read_to = 0
    self._newest = float('-inf')

  def poll(self) -> list[metrics.Row]:
    """Returns the rows since the last call, of many only the last."""
    try:
      stat = os.stat(self._path)
    except FileNotFoundError:
      return []
    if (stat.st_ino, stat.st_size) == (self._inode, self._read_to):
      return []
    with self._path.open('rb') as f:
      rows = metrics.parse(self._unread(f).decode(errors='replace'))
      fresh = [r for r in rows if r.get(metric_names.TIME, 0.0) > self._newest]
    if fresh:
      self._newest = fresh[-1][metric_names.TIME]
    return fresh

  def _unread(self, f) -> bytes:
    """Returns the header and whole lines."""
    stat = os.fstat(f.fileno())
    limit, most = _BYTES, _ROWS
    # A file whose header got a field is another file.
    if stat.st_ino != self._inode or stat.st_size < self._read_to:
      self._header, limit, most = f.readline(), _FIRST_BYTES, _FIRST_BYTES
      self._inode, self._read_to = stat.st_ino, len(self._header)
    start = max(self._read_to, stat.st_size - limit)
    f.seek(start)
    text = f.read()
    # One that was begun is read next time.
    text = text[: text.rfind(b'\n') + 1]
    lines = text.splitlines(keepends=True)
    if start > self._read_to:
      del lines[:1]
    self._read_to = max(self._read_to, start + len(text))
    return self._header + b''.join(lines[-most:])
