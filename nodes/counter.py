"""The counter: adds up the counts of all processes, and stops at a limit."""

import threading
from collections.abc import Mapping
from typing import Any

import launchpad as lp
from absl import logging
from launchpad.nodes import base

from nodes import counter_client, worker
from nodes.saving import journal as journal_lib
from run_files import patience

Number = counter_client.Number

ACTOR_STEPS, LEARNER_STEPS = 'actor_steps', 'learner_steps'
_REPORT, _STARTS = 'report:', 'starts:'


class GlobalCounter:
  """Adds up what all processes report, and stops the program at a limit.

  Processes report totals rather than increments. So a report counts once, even
  if it is sent twice or if the counter was restarted in between.
  """

  def __init__(
    self,
    limits: Mapping[str, int] | None = None,
    journal: journal_lib.Journal | None = None,
  ):
    """Starts with the counts in the journal, or at zero.

    Args:
      limits: the count at which the program stops, by name, such as
        `ACTOR_STEPS`. The first limit that is reached stops the program.
        Without limits it runs until something else stops it.
      journal: saves every report, so that the counts survive a restart.
    """
    self._limits = dict(limits or {})
    self._journal = journal
    self._lock = threading.Lock()
    self._values = journal.values if journal else {}
    self._reached = threading.Event()
    self._patience = patience.Patience(
      'the journal of the counts',
      'processes that report counts wait for some minutes',
    )

  def report(
    self, source: str, totals: Mapping[str, Number]
  ) -> dict[str, Number] | None:
    """Replaces the totals of `source`; returns the counts of the program.

    Args:
      source: the unique name of the process that reports.
      totals: everything that the process has counted so far, by name.

    Returns:
      The sum over all sources, by name. None if the totals cannot be saved now:
      then they do not count, and the reporting process has to try again. A
      count that was returned once is never lost.
    """
    with self._lock, self._patience.attempt():
      self._keep(_REPORT + source, dict(totals))
    return None if self._patience.error else self.get_counts()

  def begin(self, process: str) -> int | None:
    """Returns how often `process` was started before, and counts this start.

    Restarts and resumes count as well. A process mixes the number into its
    random key, so that it does not repeat earlier episodes.

    Args:
      process: the process's name, such as 'actor/0'.

    Returns:
      The number of earlier starts, or None if this one cannot be saved now.
    """
    with self._lock, self._patience.attempt():
      before = self._values.get(_STARTS + process, 0)
      self._keep(_STARTS + process, before + 1)
      return before
    return None

  def get_counts(self) -> dict[str, Number]:
    """Returns the sum over all sources, by name."""
    counts: dict[str, Number] = {}
    with self._lock:
      for key, totals in self._values.items():
        if key.startswith(_REPORT):
          for name, value in totals.items():
            counts[name] = counts.get(name, 0) + value
    if any(counts.get(name, 0) >= n for name, n in self._limits.items()):
      self._reached.set()
    return counts

  def run(self) -> None:
    """Waits for a stop, or for a limit; at a limit it stops the program."""
    self.get_counts()
    while not self._reached.is_set():
      if lp.wait_for_stop(0.1):
        return
    logging.info('A limit was reached; the limits are %s.', self._limits)
    lp.stop()
    # Other processes may read the counts until all of them have stopped.
    lp.wait_for_stop()

  def _keep(self, key: str, value: Any) -> None:
    if self._journal:
      self._journal.write(key, value)
    else:
      self._values[key] = value


class CounterHandle(base.Handle[counter_client.CounterClient]):
  """Dereferences to a client that waits while the counter is restarted."""

  def __init__(self, address: lp.Address):
    self._address = address

  def dereference(self) -> counter_client.CounterClient:
    return counter_client.CounterClient(self._address.resolve())


class CounterNode(worker.Node):
  """A Courier node around a `GlobalCounter`."""

  def create_handle(self) -> CounterHandle:
    return self._track_handle(CounterHandle(self.courier_address))
