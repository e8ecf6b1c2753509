"""Writes that may fail for a while: they are reported once, and tried again."""

import contextlib
from collections.abc import Callable, Iterator


def _print(line: str) -> None:
  # Standard output may be a file on the same full disk.
  with contextlib.suppress(OSError):
    print(line, flush=True)


class Patience:
  """Lets attempts to write fail, and prints when that begins and when it ends.

  Attributes:
    error: why the last attempt failed; None if it did not.
  """

  def __init__(
    self,
    what: str,
    consequence: str,
    print_fn: Callable[[str], None] = _print,
  ):
    """Prints nothing yet.

    Args:
      what: what is written, as in 'the checkpoint'.
      consequence: a clause that says what happens while writing fails.
      print_fn: prints a line.
    """
    self._what = what
    self._consequence = consequence
    self._print = print_fn
    self.error: OSError | None = None

  @contextlib.contextmanager
  def attempt(self) -> Iterator[None]:
    """Runs a body that writes, and suppresses its `OSError`."""
    before = self.error
    try:
      yield
    except OSError as e:
      self.error = e
      if before is None:
        self._print(
          f'{self._what} cannot be written now: {e}; {self._consequence}'
        )
      return
    self.error = None
    if before is not None:
      self._print(f'{self._what} is written again')
