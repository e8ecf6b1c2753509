"""Decides whether a task that crashed starts again, and when.

`supervisor.Supervisor` asks `decide` each time that a task's process ends with
an error or is lost with its node, and does what it says.
"""

import collections
import dataclasses
import time
from typing import NamedTuple

from backends.supervision import result
from run_files.status import TaskState

_MAX_BACKOFF_SECS = 30.0


@dataclasses.dataclass(frozen=True)
class RestartPolicy:
  """How often a task that crashed is started again.

  Attributes:
    max_restarts: number of restarts within the window. One more crash ends the
      run.
    window: length of the window, in seconds.
    backoff: seconds to wait before a restart; doubled for each restart that is
      still in the window, up to half a minute.
    early: a task that crashes within this many seconds of its start would
      probably do so again.
    max_early_restarts: number of restarts in a row that follow such crashes.
  """

  max_restarts: int = 10
  window: float = 300.0
  backoff: float = 0.5
  early: float = 15.0
  max_early_restarts: int = 2


class RestartBudget:
  """The restarts that one task has left of its policy."""

  def __init__(self, policy: RestartPolicy | None):
    """Starts with a full budget.

    Args:
      policy: the policy; None allows no restart.
    """
    self._policy = policy
    self._times = collections.deque()
    self._early_in_a_row = 0

  def spend(
    self, now: float, lived: float, is_own: bool = True
  ) -> float | None:
    """Takes one restart; returns the seconds to wait before it.

    Args:
      now: the time, by the monotonic clock.
      lived: seconds from the task's start to its crash.
      is_own: whether the task crashed by itself. A node that is lost soon after
        a task's start does not mean that the next node will be lost too.

    Returns:
      The seconds; None if no restart is left.
    """
    if self._policy is None:
      return None
    if is_own:
      is_early = lived < self._policy.early
      self._early_in_a_row = self._early_in_a_row + 1 if is_early else 0
      if self._early_in_a_row > self._policy.max_early_restarts:
        return None
    while self._times and now - self._times[0] > self._policy.window:
      self._times.popleft()
    if len(self._times) >= self._policy.max_restarts:
      return None
    delay = self._policy.backoff * 2 ** len(self._times)
    self._times.append(now)
    return min(delay, _MAX_BACKOFF_SECS)


class Decision(NamedTuple):
  """What becomes of a task that crashed.

  Attributes:
    state: BACKOFF, and it starts again after `delay` seconds; LOST, and it
      starts again when another node takes the place of its own; WAITING, and it
      starts again when the task that it calls does; or FAILED.
    delay: seconds until the restart.
    fails_run: whether the run fails with it.
  """

  state: TaskState
  delay: float = 0.0
  fails_run: bool = False


def decide(
  state: TaskState,
  cause: result.Cause,
  budget: RestartBudget,
  *,
  lived: float,
  node_is_lost: bool,
  callee_is_lost: bool,
  is_stopping: bool,
) -> Decision:
  """Decides what becomes of a task that crashed.

  Args:
    state: the state that the task was in when it crashed.
    cause: why it crashed.
    budget: the restarts that it has left; one is taken if it starts again.
    lived: seconds from its start to its crash.
    node_is_lost: whether it ended because its node is lost.
    callee_is_lost: whether it calls a task whose node is lost.
    is_stopping: whether the run stops.
  """
  # A task that was asked to stop and crashed has not saved what it should.
  if state is TaskState.STOPPING or cause.ends_run:
    return Decision(TaskState.FAILED, fails_run=True)
  if callee_is_lost and not node_is_lost and not is_stopping:
    # It would crash again and again, and run out of restarts.
    return Decision(TaskState.WAITING)
  delay = budget.spend(time.monotonic(), lived, is_own=not node_is_lost)
  if delay is None:
    return Decision(TaskState.FAILED, fails_run=True)
  if is_stopping:
    return Decision(TaskState.FAILED)
  if node_is_lost:
    return Decision(TaskState.LOST)
  return Decision(TaskState.BACKOFF, delay)
