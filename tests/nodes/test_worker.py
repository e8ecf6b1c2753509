"""A stop ends a loop wherever it waits, and then its resources are closed."""

import gc
import sys
import threading
import time

import compat  # noqa: F401

import pytest
from acme.jax import utils
from launchpad import context
from launchpad.launch import worker_manager

import container
from nodes import learner, worker
from tests.nodes import worker_managers


class _Loop:
  def __init__(self, run):
    self.run = run

  def step(self):
    return 'stepped'


@pytest.fixture
def manager():
  with worker_managers.in_this_thread() as manager:
    yield manager


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
def test_sys_exit_is_a_failure(manager, code, text):
  closed = []
  with pytest.raises(RuntimeError, match=rf'sys.exit\({text}\)') as caught:
    worker.StoppableWorker(
      _Loop(lambda: sys.exit(code)), [lambda: closed.append(1)]
    ).run()
  assert closed == [1]
  assert isinstance(caught.value.__cause__, SystemExit)


def test_sys_exit_while_the_program_stops_is_no_failure(manager):
  manager.stop()
  worker.StoppableWorker(_Loop(lambda: sys.exit(3))).run()


def test_after_a_failed_close_the_next_is_called(manager):
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


def test_the_loops_thread_has_the_nodes_context(manager):
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
  """Acme's learners wait for a prefetching thread, which is not interrupted."""
  samples = learner.Samples(iter(threading.Event().wait, None))
  batches = prefetch(samples)
  loop = worker.StoppableWorker(
    _Loop(lambda: next(batches)), on_stop=samples.stop, stop_seconds=30.0
  )
  threading.Timer(0.3, manager.stop).start()
  loop.run()
  assert 'loop' not in {thread.name for thread in threading.enumerate()}


def test_the_end_of_the_samples_is_a_failure(manager):
  batches = learner.Samples(iter(()))
  with pytest.raises(StopIteration):
    worker.StoppableWorker(_Loop(lambda: next(batches))).run()


def test_a_loop_that_calls_check_ends_there(manager):
  ended = []

  def looks():
    while True:
      try:
        for _ in range(1000):
          pass
        time.sleep(0.01)
      except BaseException:
        ended.append('thrown out')
        raise
      worker.check()

  threading.Timer(0.2, manager.stop).start()
  worker.StoppableWorker(_Loop(looks), stop_seconds=60.0).run()
  assert not ended


def test_an_interruption_that_python_drops_is_made_again(manager, monkeypatch):
  """Python drops it in a destructor, and where the collector calls into JAX."""
  printed, ended = [], []

  class Slow:
    def __del__(self):
      is_dropped.set()
      while True:
        time.sleep(0.01)

  def forever():
    Slow()
    try:
      while True:
        time.sleep(0.01)
    finally:
      ended.append(1)

  is_dropped = threading.Event()
  monkeypatch.setattr(sys, 'unraisablehook', printed.append)
  threading.Timer(0.1, manager.stop).start()
  worker.StoppableWorker(_Loop(forever)).run()
  assert is_dropped.is_set()
  assert (ended, printed) == ([1], [])


def test_an_interruption_that_code_turns_into_another_error_is_no_failure(
  manager,
):
  """dm-tree does this: its callbacks raise through C++."""

  def forever():
    try:
      while True:
        time.sleep(0.01)
    except SystemExit as e:
      raise AttributeError('no attribute') from e

  threading.Timer(0.1, manager.stop).start()
  worker.StoppableWorker(_Loop(forever), stop_seconds=1.0).run()


def test_an_error_of_the_loop_itself_while_it_ends_is_a_failure(manager):
  is_stopped = threading.Event()

  def fails():
    is_stopped.wait()
    raise OSError('disk full')

  threading.Timer(0.1, manager.stop).start()
  with pytest.raises(OSError, match='disk full'):
    worker.StoppableWorker(
      _Loop(fails), on_stop=is_stopped.set, stop_seconds=60.0
    ).run()


def test_a_client_that_is_closed_at_a_stop_is_no_failure(manager):
  is_closed = threading.Event()

  def reads():
    is_closed.wait()
    raise container.ClosedError('closed')

  threading.Timer(0.1, manager.stop).start()
  worker.StoppableWorker(
    _Loop(reads), on_stop=is_closed.set, stop_seconds=60.0
  ).run()


def test_what_a_loop_holds_is_never_finalized(manager):
  """Acme's adders flush for ten seconds when they are finalized."""
  finalized = []

  class Adder:
    def __del__(self):
      finalized.append(self)

  class Loop:
    def __init__(self):
      self.adder = Adder()

    def run(self):
      pass

  worker.StoppableWorker(Loop()).run()
  gc.collect()
  assert not finalized
