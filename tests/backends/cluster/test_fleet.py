"""Daemons on two nodes; both are this machine, with no scheduler between."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading

import launchpad as lp
import psutil
import pytest

from backends.cluster import door as door_lib
from backends.cluster import fleet, hosts, node_client
from backends.local import this_machine
from backends.process import bootstrap, loopback
from backends.supervision import launcher, machines, scaling
from run_files import status
from tests import helpers


@pytest.fixture
def marker(tmp_path, monkeypatch):
  """Marks all processes that a test starts; fails if one is left."""
  monkeypatch.setenv(helpers.MARKER, str(tmp_path))
  yield str(tmp_path)
  helpers.assert_nothing_left(str(tmp_path))


def _run(program, directory, placed, **config):
  """Runs a program on nodes.

  Args:
    program: the program.
    directory: for its files.
    placed: by node, how many accelerators each task there is given.
    **config: of a `RunConfig`.
  """
  bootstrap.save_paths(directory)
  command = bootstrap.command('backends.cluster.node_daemon', directory)
  nodes = [
    node_client.started(name, '127.0.0.1', tasks, command)
    for name, tasks in placed.items()
  ]
  return _run_on(nodes, program, directory, **config)


def _run_on(nodes, program, directory, **config):
  config = this_machine.RunConfig(log_dir=directory, **config)
  lines = helpers.Lines()
  with contextlib.ExitStack() as stack:
    listener = loopback.StopListener(f'{directory}/stop')
    stack.callback(listener.close)
    zygotes = fleet.Fleet(nodes, listener.stopper, (), True, config.default_env)
    stack.callback(zygotes.close)
    where = machines.Machines(
      directory, zygotes, zygotes.reserve, loopback.NodeStopper(), listener
    )
    return launcher.run(program, where, config, lines), lines


class _ActedDaemon:
  """A node's daemon that the test plays itself."""

  def __init__(self, door, name):
    address = f'127.0.0.1:{door.port}'
    self._link = door_lib.join(address, b'key', name, 30)
    self._told = []

  def hear(self, what):
    """Returns the next message that asks for something."""
    while True:
      for message in self._told:
        if message.get('do') == what:
          self._told.remove(message)
          return message
      self._told += self._link.stream.receive() or [{'do': what}]

  def say(self, event, **more):
    self._link.stream.send({'event': event, **more})

  def start(self, task):
    """Does all until the task runs."""
    self.say('ready', reason_not_to_fork=None)
    self.hear('start')
    self.say('started', task=task, pid=os.getpid())

  def get_lost(self):
    self._link.cut()

  def say_nonsense(self):
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
    name, {name: 0}, lambda stderr: door.meet(name, 30), returns=True, **more
  )


def test_a_daemon_that_is_lost_before_it_has_a_port_is_replaced(
  door, marker, tmp_path
):
  program = lp.Program('server')
  program.add_node(lp.CourierNode(_Server), label='server')

  def act():
    first = _ActedDaemon(door, 'server/0')
    first.hear('reserve')
    first.get_lost()
    second = _ActedDaemon(door, 'server/0')
    second.hear('reserve')
    second.say('reserved', address='127.0.0.1:7')
    second.start('server/0')
    second.say('exited', task='server/0', exit_code=0)
    second.hear('leave')

  with _acting(act):
    result, _ = _run_on([_joined(door, 'server/0')], program, marker)
  assert (result.exit_code, result.cause) == (0, None)
  (task,) = status.read(marker).tasks
  assert task.addresses == ['127.0.0.1:7']


def test_a_node_that_is_lost_soon_again_and_again_is_no_quick_crash(
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
    daemon.say('exited', task='task/0', exit_code=0)
    daemon.hear('leave')

  restart = {'task': this_machine.RestartPolicy()}
  with _acting(act):
    result, _ = _run_on(
      [_joined(door, 'task/0')], program, marker, restart=restart
    )
  assert (result.exit_code, result.cause) == (0, None)
  assert result.restarts == {'task/0': 8}


def test_a_daemon_that_says_nonsense_is_replaced(door, marker):
  program = helpers.program(task=lambda: None)

  def act():
    first = _ActedDaemon(door, 'task/0')
    first.start('task/0')
    first.say_nonsense()
    second = _ActedDaemon(door, 'task/0')
    second.start('task/0')
    second.say('exited', task='task/0', exit_code=0)
    second.hear('leave')

  restart = {'task': this_machine.RestartPolicy()}
  with _acting(act):
    result, _ = _run_on(
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
    result, _ = _run_on(
      [_joined(door, 'task/0')], program, marker, restart=restart
    )
  assert (result.exit_code, result.cause.task) == (1, 'task/0')


def test_a_run_grows_by_the_nodes_that_are_placed_for_it(
  door, marker, tmp_path
):
  def program(count):
    return helpers.program(task=[lambda: None] * count)

  def act():
    first = _ActedDaemon(door, 'task/0')
    first.start('task/0')
    key = scaling.request(marker, 'task', 2)
    second = _ActedDaemon(door, 'task/1')
    second.start('task/1')
    helpers.wait_until(lambda: scaling.answer(marker, key) == '', 'an answer')
    for index, daemon in enumerate((first, second)):
      daemon.say('exited', task=f'task/{index}', exit_code=0)
    second.hear('leave')

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


@pytest.mark.parametrize('returns', [True, False])
def test_the_node_of_a_finished_task_may_be_lost(door, marker, returns):
  program = helpers.program(brief=lambda: None, other=lambda: None)
  is_noticed = threading.Event()

  def act():
    brief, other = _ActedDaemon(door, 'brief/0'), _ActedDaemon(door, 'other/0')
    brief.say('ready', reason_not_to_fork=None)
    other.start('other/0')
    brief.hear('start')
    brief.say('started', task='brief/0', pid=os.getpid())
    brief.say('exited', task='brief/0', exit_code=0)
    helpers.wait_until(lambda: _state(marker, 'brief') == 'finished', 'its end')
    brief.get_lost()
    assert is_noticed.wait(30)
    other.say('exited', task='other/0', exit_code=0)
    other.hear('leave')

  brief = _joined(door, 'brief/0', free=is_noticed.set)
  other = _joined(door, 'other/0')
  with _acting(act):
    result, _ = _run_on(
      [brief._replace(returns=returns), other], program, marker
    )
  assert (result.exit_code, result.cause) == (0, None)


def _state(directory, label):
  try:
    tasks = status.read(directory).tasks
  except FileNotFoundError:
    return None
  return next(t.state for t in tasks if t.label == label)


class _Server:
  def node(self):
    return os.environ[loopback.STOP_PATH]


def test_tasks_of_two_nodes_find_each_other_and_stop_in_order(marker):
  def client(server):
    assert server.node() != os.environ[loopback.STOP_PATH]
    print('found it', file=sys.stderr)
    lp.stop()

  def other():
    lp.wait_for_stop()
    print('stopped')

  program = lp.Program('two')
  server = program.add_node(lp.CourierNode(_Server), label='server')
  program.add_node(lp.PyNode(client, server), label='client')
  program.add_node(lp.PyNode(other), label='other')
  placed = {'a': {'server/0': 0, 'other/0': 0}, 'b': {'client/0': 0}}
  result, lines = _run(program, marker, placed)
  assert (result.exit_code, result.cause, result.killed) == (0, None, ())
  assert 'found it' in lines.of('client/0')
  assert 'stopped' in lines.of('other/0')
  assert not status.read(marker).alive


def test_a_killed_task_starts_again_where_it_was(marker, tmp_path):
  def once():
    if not (tmp_path / 'before').exists():
      (tmp_path / 'before').touch()
      os.kill(os.getpid(), signal.SIGKILL)
    print('again')

  program = helpers.program(once=once, other=lambda: None)
  placed = {'a': {'once/0': 0}, 'b': {'other/0': 0}}
  restart = {'once': this_machine.RestartPolicy(backoff=0.01)}
  result, lines = _run(program, marker, placed, restart=restart)
  assert (result.exit_code, result.restarts['once/0']) == (0, 1)
  assert lines.of('once/0') == ['again']


def test_a_failure_on_one_node_stops_the_other(marker):
  def crash():
    raise ValueError('no such luck')

  program = helpers.program(crash=crash, other=lambda: lp.wait_for_stop())
  placed = {'a': {'crash/0': 0}, 'b': {'other/0': 0}}
  result, _ = _run(program, marker, placed)
  assert result.exit_code == 1
  assert result.cause.task == 'crash/0'
  assert result.cause.lines[-1] == 'ValueError: no such luck'


def test_a_lost_node_ends_the_run_by_name(marker, tmp_path):
  def victim():
    (tmp_path / 'up').touch()
    lp.wait_for_stop()

  def killer():
    helpers.wait_until((tmp_path / 'up').exists, 'the victim')
    # The daemon: the parent of the parent of all tasks there.
    zygote = psutil.Process(int((tmp_path / 'zygote').read_text()))
    zygote.parent().kill()
    lp.wait_for_stop()
    print('saved')

  def note():
    (tmp_path / 'zygote').write_text(str(os.getppid()))
    victim()

  program = helpers.program(victim=note, killer=killer)
  placed = {'a': {'killer/0': 0}, 'b': {'victim/0': 0}}
  restart = {'victim': this_machine.RestartPolicy()}
  result, lines = _run(program, marker, placed, restart=restart)
  assert (result.exit_code, result.cause.task) == (1, 'b')
  assert result.cause.lines[-1].startswith('b is lost: its daemon has ended')
  assert 'saved' in lines.of('killer/0')


@pytest.mark.parametrize(('is_over', 'exit_code'), [(True, 0), (False, 1)])
def test_daemons_that_joined_know_whether_another_launcher_may_come(
  marker, is_over, exit_code
):
  with contextlib.closing(door_lib.Door(b'key')) as door:
    key_path = pathlib.Path(marker, 'key')
    key_path.write_bytes(b'key')
    bootstrap.save_paths(marker)
    address = f'127.0.0.1:{door.port}'
    daemon = subprocess.Popen(
      bootstrap.command(
        'backends.cluster.join', marker, address, 'task/0', str(key_path)
      )
    )
    node = node_client.Node(
      'task/0', {'task/0': 0}, lambda stderr: door.meet('task/0', 30)
    )
    zygotes = fleet.Fleet([node], lambda: None, (), True, {})
    zygotes.wait_for(['task/0'])
    zygotes.close(is_over=is_over)
    assert daemon.wait(30) == exit_code


def test_each_task_sees_its_own_accelerators(marker, monkeypatch):
  monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '4,5,7')

  def show():
    print(os.environ['CUDA_VISIBLE_DEVICES'])

  program = helpers.program(two=show, one=show, none=show)
  placed = {'a': {'two/0': 2, 'one/0': 1, 'none/0': 0}}
  result, lines = _run(
    program, marker, placed, default_env={'CUDA_VISIBLE_DEVICES': ''}
  )
  assert result.exit_code == 0
  assert [lines.of(f'{n}/0') for n in ('two', 'one', 'none')] == [
    ['4,5'],
    ['7'],
    [''],
  ]


def test_a_node_that_cannot_start_says_why(marker):
  program = lp.Program('server')
  program.add_node(lp.CourierNode(_Server), label='server')
  command = [sys.executable, '-c', 'import sys; sys.exit("no such module")']
  node = node_client.started('a', '127.0.0.1', {'server/0': 0}, command)
  zygotes = fleet.Fleet([node], lambda: None, (), True, {})
  with contextlib.closing(zygotes):
    with pytest.raises(fleet.NodeLostError, match='no such module') as raised:
      zygotes.reserve('server', 0)
    assert 'a is lost: its daemon has ended with exit code 1' in str(
      raised.value
    )
