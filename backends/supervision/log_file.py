"""The file of a task's lines."""

import os
from collections.abc import Callable, Sequence

from run_files import patience, whole_files


class LogFile:
  """Adds lines to a file; a full disk must not end a run that can print.

  Attributes:
    path: of the file.
  """

  def __init__(self, path: str, say: Callable[[str], None]):
    """Opens the file with the first line.

    Args:
      path: of the file.
      say: takes a line when it cannot be written, and when it can again.
    """
    self.path = path
    self._descriptor: int | None = None
    self._num_missing = 0
    self._patience = patience.Patience(
      path, 'it will lack the lines that come until it can', say
    )

  def write(self, lines: Sequence[str]) -> None:
    """Adds lines, or counts them among those that are missing."""
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
