"""The order in which tasks stop and the time they have, without processes."""

import pytest

from backends.supervision import stopping


@pytest.mark.parametrize(
  'order, stages',
  [
    ([], [{'a', 'b', 'c'}]),
    ([['a'], ['b'], ['c']], [{'a'}, {'b'}, {'c'}]),
    # A label that the order does not name stops in the first stage.
    ([['b'], ['c']], [{'a', 'b'}, {'c'}]),
    ([['not there'], ['c']], [{'a', 'b'}, {'c'}]),
    ([['a', 'b'], ['not there'], ['c']], [{'a', 'b'}, {'c'}]),
  ],
)
def test_stages(order, stages):
  assert stopping.stop_stages(['a', 'b', 'c', 'a'], order) == stages


def test_a_stage_waits_for_the_previous_one(monkeypatch):
  now = [100.0]
  monkeypatch.setattr(stopping.time, 'monotonic', lambda: now[0])
  clock = stopping.StopClock([{'a'}, {'b'}, {'c'}], grace=12)
  alive = {'a', 'b', 'c'}
  assert clock.next_stage(alive) == {'a'}
  now[0] += 3.9
  assert clock.next_stage(alive) == set()
  # A third of the time is over, so the next stage begins though 'a' still runs.
  now[0] += 0.2
  assert clock.next_stage(alive) == {'b'}
  # The second stage has stopped, so the last has all the time that is left.
  assert clock.next_stage({'a', 'c'}) == {'c'}
  now[0] += 7.8
  assert not clock.over
  now[0] += 0.2
  assert clock.over
  assert clock.next_stage({'a'}) == set()
