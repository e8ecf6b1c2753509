"""How a peer tells the race what it has done so far, in a CSV file.

The peers' environments have other packages, so this folder imports nothing of
this repository.
"""

import csv
import time
from collections.abc import Iterable

COLUMNS = ('time', 'steps', 'updates', 'episode_return')
_EVERY_SECONDS = 0.5
# A return is the mean over this many of the last training episodes.
EPISODES = 20


class Progress:
  """Writes a row about twice a second."""

  def __init__(self, path: str):
    """Creates the file.

    Args:
      path: the CSV file.
    """
    # It stays open until the race ends the process.
    self._file = open(path, 'w', newline='', buffering=1)  # noqa: SIM115
    self._writer = csv.writer(self._file)
    self._writer.writerow(COLUMNS)
    self._written = 0.0

  def write(self, steps: int, updates: int, returns: Iterable[float]) -> None:
    """Writes a row, unless the last one is not old enough.

    Args:
      steps: environment steps so far.
      updates: gradient steps so far.
      returns: returns of the training episodes, the newest last.
    """
    now = time.time()
    if now - self._written < _EVERY_SECONDS:
      return
    self._written = now
    last = list(returns)[-EPISODES:]
    mean = sum(last) / len(last) if len(last) == EPISODES else 'nan'
    self._writer.writerow((now, steps, updates, mean))
