"""Programs without JAX on a real Ray cluster: placing, lost nodes, scaling."""

import pathlib
import threading

import launchpad as lp
import pytest

from backends import resources as resources_lib
from backends.local import this_machine
from backends.ray import driver, placement
from run_files import scale_requests, status
from tests import helpers


class _Run:
  """A run in a thread of its own."""

  def __init__(self, cluster, log_dir, program, resize=None, **resources):
    self.lines = helpers.Lines()
    self.result = None
    self._log_dir = str(log_dir)
    config = this_machine.RunConfig(
      log_dir=self._log_dir,
      restart={
        label: this_machine.RestartPolicy(backoff=0.01)
        for label in program.groups
      },
      spare=('worker',),
      stop_order=[['worker'], ['server']],
    )
    self._thread = threading.Thread(
      target=self._run,
      args=[cluster.address, program, config, resources, resize],
    )
    self._thread.start()

  def _run(self, address, program, config, resources, resize):
    self.result = placement.run(
      program,
      address=address,
      resources=resources,
      config=config,
      on_line=self.lines,
      resize=resize,
    )

  def tasks(self):
    try:
      tasks = status.read(self._log_dir).tasks
    except FileNotFoundError:
      return {}
    return {task.name: task for task in tasks}

  def states(self):
    return {name: task.state for name, task in self.tasks().items()}

  def wait_until(self, condition, what):
    try:
      helpers.wait_until(condition, what, 100)
    except TimeoutError as e:
      raise AssertionError(f'{e}: {self.states()}\n{self.lines.all}') from e

  def end(self):
    self._thread.join(100)
    assert not self._thread.is_alive()
    return self.result


class _Server:
  """Counts its callers, and ends the program once a file `end` exists."""

  def __init__(self, folder):
    self._folder = pathlib.Path(folder)
    self._callers = set()
    self._lock = threading.Lock()

  def call(self, index):
    # Two workers may call at the same moment, and each call has its thread.
    with self._lock:
      if index not in self._callers:
        self._callers.add(index)
        print(f'{len(self._callers)} call', flush=True)

  def run(self):
    while not (self._folder / 'end').exists():
      if lp.wait_for_stop(0.1):
        return
    lp.stop()
    lp.wait_for_stop()


def _work(server, index):
  while not lp.wait_for_stop(0.1):
    server.call(index)
  print(f'{index} stopped', flush=True)


def _program(folder, num_workers):
  program = lp.Program('small')
  with program.group('server'):
    server = program.add_node(lp.CourierNode(_Server, str(folder)))
  server.set_client_kwargs(call_timeout=5)
  with program.group('worker'):
    for index in range(num_workers):
      program.add_node(lp.PyNode(_work, server, index))
  return program


def _pid_is_there(pid):
  return pathlib.Path(f'/proc/{pid}').exists()


# It takes 40 seconds, since Ray needs ten to notice that a node is lost.
@pytest.mark.long
def test_lost_nodes_are_replaced(cluster, tmp_path):
  first = cluster.add_node(num_cpus=1, num_gpus=1)
  second = cluster.add_node(num_cpus=2)
  wants = {'server': resources_lib.Resources(gpu=1)}
  run = _Run(cluster, tmp_path, _program(tmp_path, 2), **wants)
  running = dict.fromkeys(['server/0', 'worker/0', 'worker/1'], 'running')
  run.wait_until(lambda: run.states() == running, 'the start')
  before = run.tasks()

  cluster.remove_node(second)
  run.wait_until(lambda: run.states()['worker/1'] == 'lost', 'loss')
  assert run.states()['server/0'] == 'running'
  cluster.add_node(num_cpus=2)
  run.wait_until(lambda: run.states() == running, 'another place')
  # No task calls a worker.
  assert run.tasks()['server/0'].restarts == 0

  cluster.remove_node(first)
  run.wait_until(lambda: run.states()['server/0'] == 'lost', 'loss')
  cluster.add_node(num_cpus=1, num_gpus=1)
  # The server's clients crash meanwhile, or are told to start again.
  run.wait_until(
    lambda: (
      run.states() == running and run.lines.of('server/0')[-1] == '2 call'
    ),
    'both at another place',
  )
  (tmp_path / 'end').touch()
  result = run.end()
  assert (result.exit_code, result.cause, result.killed) == (0, None, ())
  assert run.tasks()['server/0'].addresses != before['server/0'].addresses
  assert not any(_pid_is_there(task.pid) for task in before.values())


def test_workers_come_and_go(cluster, tmp_path):
  cluster.add_node(num_cpus=5)
  run = _Run(
    cluster,
    tmp_path,
    _program(tmp_path, 2),
    lambda label, count: _program(tmp_path, count),
  )

  def has(count):
    states = run.states()
    return len(states) == count + 1 and set(states.values()) == {'running'}

  run.wait_until(lambda: has(2), 'the start')
  scale_requests.ask(str(tmp_path), 'worker', 4)
  run.wait_until(lambda: has(4), 'more workers')
  scale_requests.ask(str(tmp_path), 'worker', 1)
  run.wait_until(lambda: has(1), 'fewer workers')
  scale_requests.ask(str(tmp_path), 'worker', 2)
  run.wait_until(lambda: has(2), 'one more worker')
  (tmp_path / 'end').touch()
  assert run.end().exit_code == 0
  assert '3 stopped' in run.lines.of('worker/3')
  assert set(run.result.restarts.values()) == {0}


def test_a_task_without_room_ends_the_run_by_name(
  cluster, tmp_path, monkeypatch
):
  monkeypatch.setattr(placement, '_PLACE_SECS', 3.0)
  cluster.add_node(num_cpus=2)
  wants = {'worker': resources_lib.Resources(cpu=3)}
  run = _Run(cluster, tmp_path, _program(tmp_path, 1), **wants)
  result = run.end()
  assert result.exit_code == 1
  assert 'no room for 1 of 2 tasks' in str(result.cause)
  assert 'They need 4 CPU' in str(result.cause)


def test_no_cluster_is_one_sentence(tmp_path):
  config = this_machine.RunConfig(log_dir=str(tmp_path))
  with pytest.raises(driver.NoClusterError, match='no Ray cluster at'):
    placement.run(
      _program(tmp_path, 1),
      address='127.0.0.1:1',
      resources={},
      config=config,
    )
