"""What cannot be written now: said once, and tried again."""

import contextlib
from collections.abc import Callable, Iterator


def _print(line: str) -> None:
  # It may go to a file on the same disk.
  with contextlib.suppress(OSError):
    print(line, flush=True)


class Patience:
  """Lets attempts to write fail, and says when that begins and when it ends.

  Attributes:
    error: of the last attempt, if it failed.
  """

  def __init__(self, what: str, then: str, say: Callable[[str], None] = _print):
    """Says nothing yet.

    Args:
      what: is written, as in 'the checkpoint'.
      then: what comes of a failure, a clause.
      say: takes a line.
    """
    self._what = what
    self._then = then
    self._say = say
    self.error: OSError | None = None

  @contextlib.contextmanager
  def attempt(self) -> Iterator[None]:
    """Takes an `OSError` of its body for a failure to write."""
    before = self.error
    try:
      yield
    except OSError as e:
      self.error = e
      if before is None:
        self._say(f'{self._what} cannot be written now: {e}; {self._then}')
      return
    self.error = None
    if before is not None:
      self._say(f'{self._what} is written again')
