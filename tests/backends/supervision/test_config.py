"""Budgets of restarts and the order of stopping, without processes."""

import pytest

from backends.supervision import config


def test_a_budget_backs_off_and_ends():
  policy = config.RestartPolicy(max_restarts=3, window=100, backoff=2)
  budget = config.RestartBudget(policy)
  assert [budget.spend(now, 60) for now in (0, 1, 2, 3)] == [2, 4, 8, None]


def test_a_budget_comes_back_with_time():
  policy = config.RestartPolicy(max_restarts=1, window=10, backoff=1)
  budget = config.RestartBudget(policy)
  assert [budget.spend(now, 60) for now in (0, 5, 11)] == [1, None, 1]


def test_a_backoff_has_an_end():
  policy = config.RestartPolicy(max_restarts=100, window=1000, backoff=1)
  budget = config.RestartBudget(policy)
  assert max(budget.spend(now, 60) for now in range(100)) == 30


def test_what_crashes_at_once_again_and_again_is_given_up():
  policy = config.RestartPolicy(backoff=1, early=15, max_early_restarts=2)
  budget = config.RestartBudget(policy)
  lived = [14, 1, 16, 14, 1, 0]
  delays = [budget.spend(now, seconds) for now, seconds in enumerate(lived)]
  assert None not in delays[:-1]
  assert delays[-1] is None


def test_no_policy_is_no_restart():
  assert config.RestartBudget(None).spend(0, 60) is None


@pytest.mark.parametrize(
  'order, stages',
  [
    ([], [{'a', 'b', 'c'}]),
    ([['a'], ['b'], ['c']], [{'a'}, {'b'}, {'c'}]),
    # One that nobody ordered goes first.
    ([['b'], ['c']], [{'a', 'b'}, {'c'}]),
    ([['not there'], ['c']], [{'a', 'b'}, {'c'}]),
    ([['a', 'b'], ['not there'], ['c']], [{'a', 'b'}, {'c'}]),
  ],
)
def test_stages(order, stages):
  assert config.stop_stages(['a', 'b', 'c', 'a'], order) == stages


def test_a_stage_waits_for_the_one_before(monkeypatch):
  now = [100.0]
  monkeypatch.setattr(config.time, 'monotonic', lambda: now[0])
  clock = config.StopClock([{'a'}, {'b'}, {'c'}], grace=12)
  alive = {'a', 'b', 'c'}
  assert clock.next_stage(alive) == {'a'}
  now[0] += 3.9
  assert clock.next_stage(alive) == set()
  # Its third of the time is over: it need not have stopped.
  now[0] += 0.2
  assert clock.next_stage(alive) == {'b'}
  # This one has stopped: the last gets all that is left.
  assert clock.next_stage({'a', 'c'}) == {'c'}
  now[0] += 7.8
  assert not clock.over
  now[0] += 0.2
  assert clock.over
  assert clock.next_stage({'a'}) == set()


def test_environments_by_label():
  it = config.RunConfig(
    default_env={'A': '1', 'B': '1'}, env={'learner': {'B': '2'}}
  )
  assert it.task_env('learner') == {'A': '1', 'B': '2'}
  assert it.task_env('actor') == {'A': '1', 'B': '1'}


@pytest.mark.parametrize(
  'wrong, message',
  [
    ({'start': 'threads'}, "'fork' or 'spawn', got 'threads'"),
    ({'grace': -1.0}, 'grace'),
    ({'stop_order': ['actor', 'learner']}, 'sequence of sequences'),
  ],
)
def test_wrong_settings_are_named(wrong, message):
  with pytest.raises(ValueError, match=message):
    config.RunConfig(**wrong)


@pytest.mark.parametrize(
  'exit_code, how',
  [
    (3, 'exited with code 3.'),
    (-9, 'was ended by SIGKILL.'),
    (None, 'failed.'),
  ],
)
def test_a_cause_reads_as_a_sentence(exit_code, how):
  cause = config.Cause('actor/1', exit_code, ('ValueError: no',))
  assert str(cause) == f'ValueError: no\nThe run failed: actor/1 {how}'
