"""Decides whether a task that crashed starts again; starts no processes."""

from backends.process import messages
from backends.supervision import restarts, result
from run_files.status import TaskState


def test_a_budget_backs_off_and_ends():
  policy = restarts.RestartPolicy(max_restarts=3, window=100, backoff=2)
  budget = restarts.RestartBudget(policy)
  assert [budget.spend(now, 60) for now in (0, 1, 2, 3)] == [2, 4, 8, None]


def test_restarts_outside_the_window_do_not_count():
  policy = restarts.RestartPolicy(max_restarts=1, window=10, backoff=1)
  budget = restarts.RestartBudget(policy)
  assert [budget.spend(now, 60) for now in (0, 5, 11)] == [1, None, 1]


def test_the_backoff_has_an_upper_limit():
  policy = restarts.RestartPolicy(max_restarts=100, window=1000, backoff=1)
  budget = restarts.RestartBudget(policy)
  assert max(budget.spend(now, 60) for now in range(100)) == 30


def test_a_task_that_crashes_soon_after_each_start_is_given_up():
  policy = restarts.RestartPolicy(backoff=1, early=15, max_early_restarts=2)
  budget = restarts.RestartBudget(policy)
  lived = [14, 1, 16, 14, 1, 0]
  delays = [budget.spend(now, seconds) for now, seconds in enumerate(lived)]
  assert None not in delays[:-1]
  assert delays[-1] is None


def test_without_a_policy_there_is_no_restart():
  assert restarts.RestartBudget(None).spend(0, 60) is None


def _decide(state=TaskState.RUNNING, exit_code=1, policy=None, **what):
  return restarts.decide(
    state,
    result.Cause('actor/0', exit_code, ()),
    restarts.RestartBudget(policy or restarts.RestartPolicy(backoff=2)),
    **{
      'lived': 60,
      'node_is_lost': False,
      'callee_is_lost': False,
      'is_stopping': False,
      **what,
    },
  )


def test_a_task_that_crashed_starts_again_after_its_backoff():
  assert _decide() == (TaskState.BACKOFF, 2, False)


def test_without_restarts_left_the_run_fails():
  policy = restarts.RestartPolicy(max_restarts=0)
  assert _decide(policy=policy) == (TaskState.FAILED, 0, True)


def test_a_task_that_says_so_or_was_asked_to_stop_does_not_start_again():
  failed = (TaskState.FAILED, 0, True)
  assert _decide(exit_code=messages.ENDS_RUN) == failed
  assert _decide(state=TaskState.STOPPING) == failed


def test_a_crash_while_the_run_stops_is_no_failure_of_the_run():
  stops = {'is_stopping': True, 'callee_is_lost': True}
  assert _decide(**stops) == (TaskState.FAILED, 0, False)


def test_a_task_waits_for_its_lost_node_or_for_that_of_a_task_it_calls():
  assert _decide(node_is_lost=True).state is TaskState.LOST
  assert _decide(callee_is_lost=True).state is TaskState.WAITING
  both = _decide(node_is_lost=True, callee_is_lost=True)
  assert both.state is TaskState.LOST
