"""What cannot be written now: said once, and tried again."""

import contextlib
import functools
from collections.abc import Callable, Iterator

say_here = functools.partial(print, flush=True)


class Patience:
  """Lets attempts to write fail, and says when that begins and when it ends."""

  def __init__(
    self, what: str, then: str, say: Callable[[str], None] = say_here
  ):
    """Says nothing yet.

    Args:
      what: is written, as in 'the checkpoint'.
      then: what comes of a failure, a clause.
      say: takes a line.
    """
    self._what = what
    self._then = then
    self._say = say
    self.is_failing = False

  @contextlib.contextmanager
  def attempt(self) -> Iterator[None]:
    """Swallows an `OSError` of its body; what is written there is replaced."""
    try:
      yield
    except OSError as e:
      if not self.is_failing:
        self.is_failing = True
        self._say(f'{self._what} cannot be written now: {e}; {self._then}')
    else:
      if self.is_failing:
        self.is_failing = False
        self._say(f'{self._what} is written again')
