"""Decides whether a task that crashed starts again, and when.

`supervisor.Supervisor` calls `decide` each time a task's process ends with an
error or is lost with its node, and carries out the decision.
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
    max_restarts: the largest number of restarts within the window. One more
      crash ends the run.
    window: length of the window, in seconds before the crash.
    backoff: seconds to wait before a restart. They are doubled for each restart
      that is still in the window, up to half a minute.
    early: seconds after a task's start; a crash within them counts as early.
    max_early_restarts: the largest number of restarts in a row after early
      crashes. One more early crash ends the run: the task would probably crash
      again and again.
  """

  max_restarts: int = 10
  window: float = 300.0
  backoff: float = 0.5
  early: float = 15.0
  max_early_restarts: int = 2


class RestartBudget:
  """How many restarts one task has left, by its policy."""

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
    """Uses up one restart, and returns how long to wait before it.

    Args:
      now: the time now, in seconds of the monotonic clock.
      lived: seconds from the task's start to its crash.
      is_own: whether the task crashed by itself. A node that is lost soon after
        a task's start does not mean that the next node will be lost too.

    Returns:
      The seconds to wait; None if no restart is left.
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
  """What happens next with a task that crashed.

  Attributes:
    state: the task's next state. BACKOFF: it starts again after `delay`
      seconds. LOST: it starts again when another node has replaced its lost
      node. WAITING: it starts again when the lost task that it calls does.
      FAILED: it does not start again.
    delay: seconds until the restart, in the state BACKOFF.
    fails_run: whether the run fails because of this crash.
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
  """Decides what happens next with a task that crashed.

  Args:
    state: the task's state when it crashed.
    cause: why it crashed.
    budget: the restarts that the task has left. One is used up, unless the task
      waits for a lost one or the run fails.
    lived: seconds from the task's start to its crash.
    node_is_lost: whether the task ended because its node is lost.
    callee_is_lost: whether it calls a task whose node is lost.
    is_stopping: whether the run is stopping.
  """
  # A task that crashes while it stops may not have saved its state, so the run
  # fails.
  if state is TaskState.STOPPING or cause.ends_run:
    return Decision(TaskState.FAILED, fails_run=True)
  if callee_is_lost and not node_is_lost and not is_stopping:
    # If it started again now, it would crash again and use up its restarts.
    return Decision(TaskState.WAITING)
  delay = budget.spend(time.monotonic(), lived, is_own=not node_is_lost)
  if delay is None:
    return Decision(TaskState.FAILED, fails_run=True)
  if is_stopping:
    return Decision(TaskState.FAILED)
  if node_is_lost:
    return Decision(TaskState.LOST)
  return Decision(TaskState.BACKOFF, delay)
