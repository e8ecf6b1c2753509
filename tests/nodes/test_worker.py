"""A stop gets through to a loop wherever it waits, and loggers are closed."""

import sys
import threading
import time

import compat  # noqa: F401

import pytest
from acme.jax import utils
from launchpad import context
from launchpad.launch import worker_manager

from nodes import learner, worker


class _Manager:
  """Launchpad's worker manager, as far as a node sees it."""

  def __init__(self):
    self._stop = threading.Event()

  def stop(self):
    self._stop.set()

  def wait_for_stop(self, timeout_secs=None):
    return self._stop.wait(timeout_secs)


class _Loop:
  def __init__(self, run):
    self.run = run

  def step(self):
    return 'stepped'


@pytest.fixture
def manager():
  manager = _Manager()
  worker_manager._WORKER_MANAGERS.manager = manager
  context.set_context(context.LaunchContext())
  yield manager
  del worker_manager._WORKER_MANAGERS.manager


def test_a_loop_that_ends_is_closed_after(manager):
  happened = []
  worker.StoppableWorker(
    _Loop(lambda: happened.append('run')), [lambda: happened.append('closed')]
  ).run()
  assert happened == ['run', 'closed']


def test_a_failure_reaches_the_node_after_closing(manager):
  closed = []

  def fail():
    raise RuntimeError('no such joint')

  with pytest.raises(RuntimeError, match='no such joint'):
    worker.StoppableWorker(_Loop(fail), [lambda: closed.append(1)]).run()
  assert closed == [1]


@pytest.mark.parametrize('code, text', [(3, '3'), (0, '0'), (None, '')])
def test_an_exit_that_nobody_asked_for_is_a_failure(manager, code, text):
  closed = []
  with pytest.raises(RuntimeError, match=rf'sys.exit\({text}\)') as caught:
    worker.StoppableWorker(
      _Loop(lambda: sys.exit(code)), [lambda: closed.append(1)]
    ).run()
  assert closed == [1]
  assert isinstance(caught.value.__cause__, SystemExit)


def test_an_exit_while_the_program_stops_is_none(manager):
  manager.stop()
  worker.StoppableWorker(_Loop(lambda: sys.exit(3))).run()


def test_one_failed_close_does_not_keep_the_next_from_it(manager):
  closed = []

  def fail():
    raise OSError('disk full')

  stoppable = worker.StoppableWorker(
    _Loop(lambda: None), [fail, lambda: closed.append(1)]
  )
  with pytest.raises(OSError, match='disk full'):
    stoppable.run()
  assert closed == [1]


def test_a_stop_interrupts_a_python_loop(manager):
  cleaned = []

  def forever():
    try:
      while True:
        time.sleep(0.01)
    finally:
      cleaned.append(1)

  threading.Timer(0.1, manager.stop).start()
  worker.StoppableWorker(_Loop(forever)).run()
  assert cleaned == [1]


def test_a_stop_leaves_a_loop_that_waits_outside_python(manager):
  closed = []
  released = threading.Lock()
  released.acquire()
  manager.stop()
  worker.StoppableWorker(
    _Loop(released.acquire), [lambda: closed.append(1)], stop_seconds=0.5
  ).run()
  assert closed == [1]
  released.release()


def test_the_loop_can_do_what_the_node_can(manager):
  seen = []

  def run():
    seen.append(worker_manager.get_worker_manager())
    seen.append(context.get_context())

  worker.StoppableWorker(_Loop(run)).run()
  assert seen == [manager, context.get_context()]


def test_the_workers_methods_are_served(manager):
  stoppable = worker.StoppableWorker(_Loop(lambda: None))
  assert stoppable.step() == 'stepped'
  assert {'run', 'step'} <= set(dir(stoppable))
  for name in dir(stoppable):
    getattr(stoppable, name)


@pytest.mark.parametrize('prefetch', [lambda samples: samples, utils.prefetch])
def test_a_learner_that_waits_for_samples_ends_in_time(manager, prefetch):
  """Acme's learners wait for their own threads, which nothing interrupts."""
  samples = learner.Samples(iter(threading.Event().wait, None))
  batches = prefetch(samples)
  loop = worker.StoppableWorker(
    _Loop(lambda: next(batches)), on_stop=samples.stop, stop_seconds=30.0
  )
  threading.Timer(0.3, manager.stop).start()
  loop.run()
  assert 'loop' not in {thread.name for thread in threading.enumerate()}


def test_that_samples_have_come_to_an_end_is_a_failure(manager):
  batches = learner.Samples(iter(()))
  with pytest.raises(StopIteration):
    worker.StoppableWorker(_Loop(lambda: next(batches))).run()
