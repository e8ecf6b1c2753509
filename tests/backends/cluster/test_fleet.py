"""Nodes whose daemons the test plays itself: lost, replaced and added."""

import contextlib
import os
import threading

import launchpad as lp
import pytest

from backends.cluster import door as door_lib
from backends.cluster import hosts, node_client
from backends.local import this_machine
from backends.process import messages
from run_files import scale_requests, status
from tests import helpers
from tests.backends.cluster import running


class _ActedDaemon:
  """A node's daemon that the test plays itself."""

  def __init__(self, door, name):
    address = f'127.0.0.1:{door.port}'
    self._link = door_lib.join(address, b'key', name, 30)
    self._received = []

  def wait_for(self, kind):
    """Returns when a message of a kind has come, or the launcher is gone."""
    while True:
      for message in self._received:
        if isinstance(message, kind):
          self._received.remove(message)
          return
      more = self._link.stream.receive()
      if more is None:
        return
      self._received += more

  def send(self, message):
    self._link.stream.send(message)

  def start(self, task):
    """Does everything until the task runs."""
    self.send(messages.Ready(None))
    self.wait_for(messages.Order)
    self.send(messages.Started(task, os.getpid()))

  def end(self, task):
    """Does everything from the task's end to its own."""
    self.send(messages.Exited(task, 0))
    self.wait_for(messages.Leave)

  def get_lost(self):
    self._link.cut()

  def send_nonsense(self):
    os.write(self._link.stream.fileno(), b'Segmentation fault\n')


@contextlib.contextmanager
def _acting(act):
  """Has the test's own daemons act beside the launcher."""
  thread = threading.Thread(target=act)
  thread.start()
  yield
  thread.join(60)
  assert not thread.is_alive()


@pytest.fixture
def door():
  with contextlib.closing(door_lib.Door(b'key')) as made:
    yield made


def _joined(door, name, **more):
  return node_client.Node(
    name,
    {name: 0},
    lambda stderr: door.meet(name, 30),
    is_replaced=True,
    **more,
  )


def test_a_daemon_that_is_lost_before_it_has_a_port_is_replaced(
  door, marker, tmp_path
):
  program = lp.Program('server')
  program.add_node(lp.CourierNode(running.Server), label='server')

  def act():
    first = _ActedDaemon(door, 'server/0')
    first.wait_for(messages.Reserve)
    first.get_lost()
    second = _ActedDaemon(door, 'server/0')
    second.wait_for(messages.Reserve)
    second.send(messages.Reserved('127.0.0.1:7'))
    second.start('server/0')
    second.end('server/0')

  with _acting(act):
    result, _ = running.run_on([_joined(door, 'server/0')], program, marker)
  assert (result.exit_code, result.cause) == (0, None)
  (task,) = status.read(marker).tasks
  assert task.addresses == ['127.0.0.1:7']


def test_a_node_lost_soon_after_each_start_does_not_count_as_an_early_crash(
  door, marker
):
  program = helpers.program(task=lambda: None)

  def act():
    for _ in range(8):
      daemon = _ActedDaemon(door, 'task/0')
      daemon.start('task/0')
      daemon.get_lost()
    daemon = _ActedDaemon(door, 'task/0')
    daemon.start('task/0')
    daemon.end('task/0')

  restart = {'task': this_machine.RestartPolicy()}
  with _acting(act):
    result, _ = running.run_on(
      [_joined(door, 'task/0')], program, marker, restart=restart
    )
  assert (result.exit_code, result.cause) == (0, None)
  assert result.restarts == {'task/0': 8}


def test_a_daemon_that_says_nonsense_is_replaced(door, marker):
  program = helpers.program(task=lambda: None)

  def act():
    first = _ActedDaemon(door, 'task/0')
    first.start('task/0')
    first.send_nonsense()
    second = _ActedDaemon(door, 'task/0')
    second.start('task/0')
    second.end('task/0')

  restart = {'task': this_machine.RestartPolicy()}
  with _acting(act):
    result, _ = running.run_on(
      [_joined(door, 'task/0')], program, marker, restart=restart
    )
  assert (result.exit_code, result.cause) == (0, None)


def test_a_node_that_is_lost_too_often_ends_the_run_by_name(door, marker):
  program = helpers.program(task=lambda: None)

  def act():
    for _ in range(3):
      daemon = _ActedDaemon(door, 'task/0')
      daemon.start('task/0')
      daemon.get_lost()

  restart = {'task': this_machine.RestartPolicy(max_restarts=2)}
  with _acting(act):
    result, _ = running.run_on(
      [_joined(door, 'task/0')], program, marker, restart=restart
    )
  assert (result.exit_code, result.cause.task) == (1, 'task/0')


def test_a_run_grows_onto_the_nodes_that_are_placed_for_it(
  door, marker, tmp_path
):
  def program(count):
    return helpers.program(task=[lambda: None] * count)

  def act():
    first = _ActedDaemon(door, 'task/0')
    first.start('task/0')
    key = scale_requests.ask(marker, 'task', 2)
    second = _ActedDaemon(door, 'task/1')
    second.start('task/1')
    helpers.wait_until(
      lambda: scale_requests.answer(marker, key) == '', 'an answer'
    )
    for index, daemon in enumerate((first, second)):
      daemon.send(messages.Exited(f'task/{index}', 0))
    second.wait_for(messages.Leave)

  with _acting(act):
    result, _ = hosts.run(
      program(1),
      [_joined(door, 'task/0')],
      str(tmp_path),
      config=this_machine.RunConfig(log_dir=marker),
      growth=hosts.Growth(
        lambda label, count: program(count),
        lambda names: [_joined(door, name) for name in names],
      ),
    )
  assert (result.exit_code, result.cause) == (0, None)
  assert result.restarts == {'task/0': 0, 'task/1': 0}


@pytest.mark.parametrize('is_replaced', [True, False])
def test_the_node_of_a_finished_task_may_be_lost(door, marker, is_replaced):
  program = helpers.program(brief=lambda: None, other=lambda: None)
  is_noticed = threading.Event()

  def act():
    brief, other = _ActedDaemon(door, 'brief/0'), _ActedDaemon(door, 'other/0')
    brief.send(messages.Ready(None))
    other.start('other/0')
    brief.wait_for(messages.Order)
    brief.send(messages.Started('brief/0', os.getpid()))
    brief.send(messages.Exited('brief/0', 0))
    helpers.wait_until(lambda: _state(marker, 'brief') == 'finished', 'its end')
    brief.get_lost()
    assert is_noticed.wait(30)
    other.end('other/0')

  brief = _joined(door, 'brief/0', free=is_noticed.set)
  other = _joined(door, 'other/0')
  with _acting(act):
    result, _ = running.run_on(
      [brief._replace(is_replaced=is_replaced), other], program, marker
    )
  assert (result.exit_code, result.cause) == (0, None)


def _state(directory, label):
  try:
    tasks = status.read(directory).tasks
  except FileNotFoundError:
    return None
  return next(t.state for t in tasks if t.label == label)
