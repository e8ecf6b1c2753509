"""The counter adds up exactly, whatever is sent twice or restarted."""

import pytest
from acme.utils import counting

from nodes import counter as counter_lib


class _LosesAnswers:
  """A parent whose answers get lost after they took effect."""

  def __init__(self, parent):
    self._parent = parent
    self.broken = False

  def report(self, source, totals):
    counts = self._parent.report(source, totals)
    if self.broken:
      raise ConnectionError('answer lost')
    return counts


def test_counts_of_all_processes_add_up():
  parent = counter_lib.GlobalCounter()
  actors = [counter_lib.Counter(parent, 'actor', 0.0) for _ in range(2)]
  learner = counter_lib.Counter(parent, 'learner', 0.0)
  actors[0].increment(steps=3, episodes=1)
  actors[1].increment(steps=4, episodes=1)
  counts = learner.increment(steps=1)
  assert counts == {'actor_steps': 7, 'actor_episodes': 2, 'learner_steps': 1}


def test_a_report_whose_answer_was_lost_counts_once():
  parent = counter_lib.GlobalCounter()
  flaky = _LosesAnswers(parent)
  actor = counter_lib.Counter(flaky, 'actor', 0.0)
  flaky.broken = True
  with pytest.raises(ConnectionError):
    actor.increment(steps=5)
  flaky.broken = False
  assert actor.increment(steps=2)['actor_steps'] == 7
  assert parent.get_counts() == {'actor_steps': 7}


def test_a_restarted_actor_adds_to_what_it_had_counted():
  parent = counter_lib.GlobalCounter()
  counter_lib.Counter(parent, 'actor', 0.0).increment(steps=5)
  restarted = counter_lib.Counter(parent, 'actor', 0.0)
  assert restarted.increment(steps=1)['actor_steps'] == 6


def test_a_restarted_counter_gets_the_totals_again():
  actor = counter_lib.Counter(counter_lib.GlobalCounter(), 'actor', 0.0)
  actor.increment(steps=5)
  actor._parent = counter_lib.GlobalCounter()
  assert actor.increment(steps=1)['actor_steps'] == 6


def test_own_counts_show_before_they_are_reported():
  parent = counter_lib.GlobalCounter()
  learner = counter_lib.Counter(parent, 'learner', time_delta=1000.0)
  learner.increment(steps=1)
  assert learner.increment(steps=1)['learner_steps'] == 2
  assert parent.get_counts() == {'learner_steps': 1}
  learner.sync()
  assert parent.get_counts() == {'learner_steps': 2}


def test_acmes_own_counter_works_as_a_child():
  parent = counter_lib.GlobalCounter()
  child = counting.Counter(parent, 'evaluator', time_delta=-1.0)
  child.increment(steps=2)
  child.increment(steps=3)
  assert parent.get_counts() == {'evaluator_steps': 5}
