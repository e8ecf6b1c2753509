"""Programs of the kinds that Launchpad's own examples show."""

import os
import threading

import launchpad as lp
import pytest
from absl import flags

from tests import helpers

_GREETING = flags.DEFINE_string('greeting_of_test', 'hello', 'For a test.')


class _Greeter:
  def run(self):
    print(f'{_greeting()} from a class')


def _greeting():
  return flags.FLAGS.greeting_of_test


def test_a_class_and_a_function_say_hello():
  program = helpers.program(function=lambda: print('hello from a function'))
  program.add_node(lp.PyClassNode(_Greeter), label='class')
  result, lines = helpers.run(program)
  assert result.exit_code == 0
  assert 'hello from a function' in lines.of('function/0')
  assert 'hello from a class' in lines.of('class/0')


def test_flags_of_the_launcher_reach_the_tasks():
  if not flags.FLAGS.is_parsed():
    flags.FLAGS(['test'])
  flags.FLAGS['greeting_of_test'].parse('good morning')
  flags.FLAGS['greeting_of_test'].present = 1
  try:
    program = lp.Program('hello')
    program.add_node(lp.PyClassNode(_Greeter), label='class')
    result, lines = helpers.run(program)
  finally:
    flags.FLAGS['greeting_of_test'].unparse()
  assert result.exit_code == 0
  assert 'good morning from a class' in lines.of('class/0')


class _Producer:
  def work(self, item):
    return item * item


class _Consumer:
  def __init__(self, producers):
    self._producers = producers

  def run(self):
    for item in range(5):
      futures = [p.futures.work(item) for p in self._producers]
      print([future.result() for future in futures])
    lp.stop()


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_a_consumer_and_its_producers(start):
  program = lp.Program('consumer_producers')
  with program.group('producer'):
    producers = [program.add_node(lp.CourierNode(_Producer)) for _ in range(3)]
  program.add_node(lp.CourierNode(_Consumer, producers), label='consumer')
  result, lines = helpers.run(program, start=start)
  assert result.exit_code == 0
  printed = [line for line in lines.of('consumer/0') if line[0] == '[']
  assert printed == [str([i * i] * 3) for i in range(5)]


class _BatchingServer:
  """Answers four requests at a time. They may come from any clients."""

  def __init__(self):
    self._batch = []
    self._done = threading.Semaphore(0)
    self._barrier = threading.Barrier(4, action=self._compute)

  def _compute(self):
    self._results = {item: 2 * item for item in self._batch}
    print('batch of', len(self._batch))
    self._batch = []

  def run(self):
    for _ in range(4):
      assert self._done.acquire(timeout=20)
    lp.stop()

  def leave(self):
    self._done.release()

  def double(self, item):
    self._batch.append(item)
    self._barrier.wait(20)
    return self._results[item]


def _ask_in_batches(server, items):
  print([server.double(item) for item in items])
  server.leave()


def test_a_server_that_batches_its_clients():
  program = lp.Program('batching')
  server = program.add_node(lp.CourierNode(_BatchingServer), label='server')
  with program.group('client'):
    for i in range(4):
      program.add_node(lp.PyNode(_ask_in_batches, server, [i, i + 10]))
  result, lines = helpers.run(program)
  assert result.exit_code == 0
  assert lines.of('server/0').count('batch of 4') == 2
  for i in range(4):
    assert str([2 * i, 2 * i + 20]) in lines.of(f'client/{i}')


class _Where:
  def where(self):
    return os.getpid(), threading.get_ident()


def _compare(first, second):
  print('one process:', first.where()[0] == second.where()[0])
  lp.stop()


def test_colocated_in_threads_of_one_process():
  program = lp.Program('colocation')
  nodes = [lp.CourierNode(_Where), lp.CourierNode(_Where)]
  handles = [node.create_handle() for node in nodes]
  program.add_node(lp.MultiThreadingColocation(nodes), label='both')
  program.add_node(lp.PyNode(_compare, *handles), label='client')
  result, lines = helpers.run(program)
  assert result.exit_code == 0
  assert 'one process: True' in lines.of('client/0')


def test_a_crash_in_a_colocated_thread_is_a_crash():
  def crash():
    raise ValueError('in a thread')

  program = helpers.program(other=lambda: lp.wait_for_stop())
  node = lp.MultiThreadingColocation([lp.PyNode(crash)])
  program.add_node(node, label='both')
  result, _ = helpers.run(program)
  assert result.exit_code == 1
  assert result.cause.task == 'both/0'
  assert 'ValueError: in a thread' in result.cause.lines


class _Player:
  def __init__(self, name, other):
    self._name = name
    self._other = other
    self._asked = threading.Event()

  def name(self):
    self._asked.set()
    return self._name

  def run(self):
    print(self._name, 'plays', self._other.name())
    assert self._asked.wait(20)
    if self._name == 'left':
      lp.stop()
    lp.wait_for_stop()


def test_nodes_that_refer_to_each_other():
  program = lp.Program('cycle')
  left, right = lp.CourierNode(_Player), lp.CourierNode(_Player)
  left_handle, right_handle = left.create_handle(), right.create_handle()
  left.configure('left', right_handle)
  right.configure('right', left_handle)
  program.add_node(left, label='left')
  program.add_node(right, label='right')
  result, lines = helpers.run(program)
  assert result.exit_code == 0
  assert 'left plays right' in lines.of('left/0')
  assert 'right plays left' in lines.of('right/0')
