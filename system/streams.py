"""Standard streams that a process can always write to.

Standard library only, and quickly imported, so that it can come first.
"""

import io
import os
import select
import sys


class _Lenient(io.FileIO):
  """Drops what nobody can take: a reader that has gone, a disk that is full."""

  def write(self, data):
    try:
      written = super().write(data)
      while written is None:
        # Somebody who shares it has it not wait.
        select.select([], [self], [])
        written = super().write(data)
    except OSError:
      return len(data)
    return written


def open_lenient(descriptor, encoding='utf-8', errors='replace', closefd=False):
  """Returns a text stream to a descriptor; what it cannot take is dropped.

  Args:
    descriptor: of a file, pipe or terminal.
    encoding: of the text.
    errors: what becomes of what that has no bytes for.
    closefd: whether the descriptor is closed with the stream.
  """
  raw = _Lenient(descriptor, 'w', closefd=closefd)
  return io.TextIOWrapper(
    io.BufferedWriter(raw), encoding, errors, line_buffering=raw.isatty()
  )


def takes_controls(stream):
  """Whether a stream is a terminal that is said to do more than print."""
  terminal = os.environ.get('TERM', '')
  return stream.isatty() and terminal not in ('', 'dumb', 'unknown')


def takes_colours(stream):
  """Whether a stream is a terminal on which the user wants colours."""
  # https://no-color.org
  return takes_controls(stream) and not os.environ.get('NO_COLOR')


def begin():
  """Makes standard output and standard error such streams.

  One that is closed leads nowhere from now on: the next file to be opened would
  else be taken for it.
  """
  for descriptor in range(3):
    try:
      os.fstat(descriptor)
    except OSError:
      os.open(os.devnull, os.O_RDWR)
  if sys.stdin is None:
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
  for descriptor, name in ((1, 'stdout'), (2, 'stderr')):
    before = getattr(sys, name)
    stream = open_lenient(
      descriptor,
      before.encoding if before else 'utf-8',
      before.errors if before else 'replace',
    )
    stream.reconfigure(
      line_buffering=name == 'stderr' or stream.line_buffering,
      write_through=bool(before and before.write_through),
    )
    setattr(sys, name, stream)
    setattr(sys, f'__{name}__', stream)
