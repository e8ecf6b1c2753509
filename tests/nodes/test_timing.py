"""Timers measure what a process spends its time on, and add it up."""

import json
import time

import pytest

from nodes import timing
from reporting import profile


class Work:
  def outer(self):
    time.sleep(0.01)
    return self.inner()

  def inner(self):
    time.sleep(0.02)
    return 'done'

  def fail(self):
    raise KeyError('no such thing')


@pytest.fixture
def path(tmp_path):
  return tmp_path / 'profile' / 'learner_0.json'


def test_a_call_within_a_call_stands_below_it(path):
  timer = timing.TreeTimer(str(path))
  work = timer.time(Work(), {'outer': 'step', 'inner': 'wait'})
  assert work.outer() == 'done'
  work.outer()
  work.inner()
  timer.close()

  tree = json.loads(path.read_text())
  assert {name: node['calls'] for name, node in tree.items()} == {
    '': 1,
    'step': 2,
    'step/wait': 2,
    'wait': 1,
  }
  assert tree['step/wait']['seconds'] < tree['step']['seconds']
  within = tree['step']['seconds'] + tree['wait']['seconds']
  assert within <= tree['']['seconds']


def test_a_restarted_process_adds_to_the_times_in_the_file(path):
  for _ in range(2):
    timer = timing.TreeTimer(str(path))
    timer.time(Work(), {'inner': 'wait'}).inner()
    timer.close()
  tree = json.loads(path.read_text())
  assert tree['wait']['calls'] == 2
  assert tree['']['seconds'] >= tree['wait']['seconds'] >= 0.04


def test_a_call_that_raises_is_counted_and_raises(path):
  timer = timing.TreeTimer(str(path))
  work = timer.time(Work(), {'fail': 'step', 'inner': 'wait'})
  with pytest.raises(KeyError):
    work.fail()
  work.inner()
  timer.close()
  assert {'step', 'wait'} <= {*json.loads(path.read_text())}


def test_the_page_shows_the_time_that_is_left_over(path):
  path.parent.mkdir()
  nodes = {'': (10, 1), 'step': (8, 4), 'step/wait': (2, 4), 'publish': (1, 4)}
  path.write_text(
    json.dumps(
      {name: {'seconds': s, 'calls': c} for name, (s, c) in nodes.items()}
    )
  )
  page = profile.page(path.parents[1]).splitlines()
  assert [' '.join(line.split()) for line in page] == [
    'learner/0 10.0 s',
    'step 8.0 s 80.0% 4 calls 2000.000 ms each',
    'wait 2.0 s 20.0% 4 calls 500.000 ms each',
    'gradient step 6.0 s 60.0%',
    'publish 1.0 s 10.0% 4 calls 250.000 ms each',
    'all else 1.0 s 10.0%',
  ]


def test_without_a_timer_objects_stay_as_they_are():
  work = Work()
  assert timing.NoTimer().time(work, {'outer': 'step'}) is work
  assert 'outer' not in vars(work)
