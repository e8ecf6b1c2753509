"""Standard streams that a process can always write to.

This module is one of the first that a program imports. So it uses only the
standard library, and is quickly imported.
"""

import io
import os
import select
import sys


class _Lenient(io.FileIO):
  """Drops text that cannot be written, as when a disk is full."""

  def write(self, data):
    try:
      written = super().write(data)
      while written is None:
        # Another process that shares the stream has made it non-blocking.
        select.select([], [self], [])
        written = super().write(data)
    except OSError:
      return len(data)
    return written


def open_lenient(descriptor, encoding='utf-8', errors='replace', closefd=False):
  """Returns a text stream to a descriptor; it drops what cannot be written.

  Args:
    descriptor: the file descriptor of a file, pipe or terminal.
    encoding: the encoding of the text.
    errors: what to do with characters that the encoding lacks, as for `open`.
    closefd: whether the descriptor is closed with the stream.
  """
  raw = _Lenient(descriptor, 'w', closefd=closefd)
  return io.TextIOWrapper(
    io.BufferedWriter(raw), encoding, errors, line_buffering=raw.isatty()
  )


def takes_controls(stream):
  """Returns whether a stream is a terminal that obeys control sequences."""
  terminal = os.environ.get('TERM', '')
  return stream.isatty() and terminal not in ('', 'dumb', 'unknown')


def takes_colours(stream):
  """Returns whether a stream is a terminal on which the user wants colours."""
  # https://no-color.org
  return takes_controls(stream) and not os.environ.get('NO_COLOR')


def begin():
  """Replaces standard output and standard error by streams that never fail.

  A standard stream that is closed is opened to `/dev/null`. Otherwise the next
  file that is opened would get its descriptor, and with it what is printed.
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
