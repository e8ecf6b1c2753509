"""Programs on two nodes, which are both this machine, without a scheduler."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import launchpad as lp
import psutil
import pytest

from backends.cluster import door as door_lib
from backends.cluster import fleet, node_client
from backends.local import this_machine
from backends.process import bootstrap, loopback
from run_files import status
from tests import helpers
from tests.backends.cluster import running


def _run(program, directory, placed, **config):
  """Runs a program on nodes whose daemons are started on this machine.

  Args:
    program: the program.
    directory: path of a folder for the run's files.
    placed: by node, the number of accelerators of each task there.
    **config: fields of a `RunConfig`.
  """
  bootstrap.save_paths(directory)
  command = bootstrap.command('backends.cluster.node_daemon', directory)
  nodes = [
    node_client.started(name, '127.0.0.1', tasks, command)
    for name, tasks in placed.items()
  ]
  return running.run_on(nodes, program, directory, **config)


def test_tasks_of_two_nodes_find_each_other_and_stop_in_order(marker):
  def client(server):
    assert server.node() != os.environ[loopback.STOP_PATH]
    print('found it', file=sys.stderr)
    lp.stop()

  def other():
    lp.wait_for_stop()
    print('stopped')

  program = lp.Program('two')
  server = program.add_node(lp.CourierNode(running.Server), label='server')
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
    daemons = fleet.Fleet([node], lambda: None, this_machine.RunConfig())
    daemons.wait_for(['task/0'])
    daemons.close(is_over=is_over)
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
  program.add_node(lp.CourierNode(running.Server), label='server')
  command = [sys.executable, '-c', 'import sys; sys.exit("no such module")']
  node = node_client.started('a', '127.0.0.1', {'server/0': 0}, command)
  daemons = fleet.Fleet([node], lambda: None, this_machine.RunConfig())
  with contextlib.closing(daemons):
    with pytest.raises(fleet.NodeLostError, match='no such module') as raised:
      daemons.reserve('server', 0)
    assert 'a is lost: its daemon has ended with exit code 1' in str(
      raised.value
    )
