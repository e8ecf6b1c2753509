"""Wakes the loop of a run when a signal comes or another thread asks for it."""

import collections
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence

_SAME_INTERRUPT_SECS = 0.5


class Signals:
  """Counts the signals that ask for the end of a run.

  Attributes:
    interrupts: the number of times that the user has pressed Ctrl-C.
  """

  def __init__(self):
    self.interrupts = 0
    self._interrupted_at = float('-inf')

  def counts(self, signum: int) -> bool:
    """Counts a signal; returns False if it repeats the last Ctrl-C."""
    if signum == signal.SIGINT:
      now = time.monotonic()
      # A terminal sends Ctrl-C to all processes, and a wrapper may pass it on.
      if now - self._interrupted_at < _SAME_INTERRUPT_SECS:
        return False
      self._interrupted_at = now
      self.interrupts += 1
    return True


class Wakeups:
  """A pipe on which the loop selects, so that writing to it wakes the loop."""

  def __init__(self):
    """Handles no signals yet."""
    self._signals = collections.deque()
    self._reader, self._writer = os.pipe()
    os.set_blocking(self._reader, False)
    os.set_blocking(self._writer, False)

  def fileno(self) -> int:
    return self._reader

  def wake(self) -> None:
    """Wakes the loop; any thread may call it."""
    # A full pipe wakes the loop as well.
    with contextlib.suppress(BlockingIOError):
      os.write(self._writer, b'w')

  def take(self) -> list[int]:
    """Returns the signals that came since the last call."""
    with contextlib.suppress(BlockingIOError):
      os.read(self._reader, 4096)
    signals = []
    while self._signals:
      signals.append(self._signals.popleft())
    return signals

  @contextlib.contextmanager
  def handling(self, signals: Sequence[int]) -> Iterator[None]:
    """Has these signals wake the loop, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
      yield
      return
    previous = {}
    for signum in signals:
      # One that was ignored from the start (nohup, a shell's `&`) stays so.
      if signal.getsignal(signum) is not signal.SIG_IGN:
        previous[signum] = signal.signal(signum, self._on_signal)
    try:
      yield
    finally:
      for signum, handler in previous.items():
        signal.signal(signum, handler or signal.SIG_DFL)
      # Signals that came too late for the loop go to the earlier handlers.
      for signum in self.take():
        signal.raise_signal(signum)

  def close(self) -> None:
    os.close(self._reader)
    os.close(self._writer)

  def _on_signal(self, signum: int, frame: object) -> None:
    del frame
    self._signals.append(signum)
    self.wake()
