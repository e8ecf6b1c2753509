"""Programs run as processes: what they print, how they end, what is left."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import launchpad as lp
import pytest

from backends.local import this_machine
from run_files import status
from tests import helpers


@pytest.fixture
def marker(tmp_path, monkeypatch):
  """Marks all processes that a test starts; fails if one is left."""
  monkeypatch.setenv('BACKENDS_TEST_RUN', str(tmp_path))
  yield str(tmp_path)
  helpers.assert_nothing_left(str(tmp_path))


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_ends_when_all_nodes_have_ended(start, marker):
  result, lines = helpers.run(
    helpers.program(
      one=lambda: print('out', file=sys.stdout),
      two=[lambda: print('err', file=sys.stderr), lambda: None],
    ),
    start=start,
  )
  assert (result.exit_code, result.cause, result.killed) == (0, None, ())
  assert result.restarts == {'one/0': 0, 'two/0': 0, 'two/1': 0}
  assert lines.of('one/0') == ['out']
  assert lines.of('two/0') == ['err']


def test_a_crash_ends_the_run_with_its_traceback(marker, capfd):
  def crash():
    os.environ['NOT_THERE']

  result, lines = helpers.run(
    helpers.program(crash=crash, other=lambda: lp.wait_for_stop())
  )
  assert result.exit_code == 1
  assert result.cause.task == 'crash/0'
  assert result.cause.exit_code == 1
  assert "KeyError: 'NOT_THERE'" in result.cause.lines[-1]
  assert "KeyError: 'NOT_THERE'" in lines.of('crash/0')
  *_, error, last = capfd.readouterr().err.splitlines()
  assert error == "KeyError: 'NOT_THERE'"
  assert last == 'The run failed: crash/0 exited with code 1.'


def test_of_a_long_cause_both_ends_are_told_and_where_the_rest_is(
  tmp_path, marker
):
  def crash():
    raise ValueError('\n'.join(f'part {i}' for i in range(100)))

  result, _ = helpers.run(helpers.program(crash=crash), log_dir=str(tmp_path))
  lines = result.cause.lines
  assert lines[0] == 'Traceback (most recent call last):'
  assert 'ValueError: part 0' in lines
  assert lines[-1] == 'part 99'
  (note,) = [line for line in lines if line.startswith('(...')]
  log = tmp_path / 'crash_0.log'
  assert note.endswith(f' lines, which are in {log} ...)')
  told = len(lines) - 1 + int(note.split()[1])
  assert told == len(log.read_text().splitlines())


class _BadNode:
  def __init__(self):
    raise RuntimeError('no such device')

  def run(self):
    pass


def test_a_crash_in_a_constructor(marker):
  program = helpers.program(other=lambda: lp.wait_for_stop())
  program.add_node(lp.CourierNode(_BadNode), label='bad')
  result, _ = helpers.run(program)
  assert result.exit_code == 1
  assert result.cause.task == 'bad/0'
  assert result.cause.lines[-1] == 'RuntimeError: no such device'


def test_a_signal_is_named_and_a_fault_located(marker):
  def fault():
    import faulthandler

    faulthandler._sigsegv()

  result, _ = helpers.run(helpers.program(fault=fault))
  assert result.exit_code == 1
  assert result.cause.signal == 'SIGSEGV'
  assert any('Segmentation fault' in line for line in result.cause.lines)
  assert 'SIGSEGV' in str(result.cause).splitlines()[-1]


def test_an_exit_code_without_traceback_shows_the_last_output(marker):
  def leave():
    print('disk full')
    sys.exit(3)

  result, _ = helpers.run(helpers.program(node=leave))
  assert result.exit_code == 1
  assert result.cause.exit_code == 3
  assert result.cause.lines[-1] == 'disk full'


def test_stop_from_a_node(marker):
  def polite():
    lp.wait_for_stop()
    print('saved')

  result, lines = helpers.run(
    helpers.program(stopper=lambda: lp.stop(), polite=[polite, polite])
  )
  assert result.exit_code == 0
  assert result.killed == ()
  assert lines.of('polite/0') == lines.of('polite/1') == ['saved']


def test_stop_when_another_thread_takes_the_signal(marker, tmp_path):
  def polite():
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    (tmp_path / 'blocked').touch()
    lp.wait_for_stop()
    print('saved')

  def stopper():
    helpers.wait_until(
      (tmp_path / 'blocked').exists, 'the signal to be blocked'
    )
    lp.stop()

  result, lines = helpers.run(helpers.program(polite=polite, stopper=stopper))
  assert result.killed == ()
  assert lines.of('polite/0') == ['saved']


def test_a_failure_while_stopping_is_a_failure(marker):
  def save():
    lp.wait_for_stop()
    raise OSError('disk full')

  result, _ = helpers.run(
    helpers.program(stopper=lambda: lp.stop(), learner=save)
  )
  assert result.exit_code == 1
  assert result.cause.task == 'learner/0'


def test_a_crash_before_its_turn_to_stop_is_forgiven_by_its_policy(
  marker, tmp_path
):
  def client():
    lp.wait_for_stop()
    (tmp_path / 'stopping').touch()
    helpers.wait_until(
      lambda: status.read(str(tmp_path)).tasks[1].state == 'failed',
      'the launcher to see the crash',
    )

  def server():
    helpers.wait_until((tmp_path / 'stopping').exists, 'the client to stop')
    os.kill(os.getpid(), signal.SIGKILL)

  result, lines = helpers.run(
    helpers.program(client=client, server=server, stopper=lambda: lp.stop()),
    stop_order=[['client'], ['server']],
    restart={'server': this_machine.RestartPolicy()},
    log_dir=str(tmp_path),
  )
  assert (result.exit_code, result.cause) == (0, None)
  assert any('server/0 ended with SIGKILL' in x for x in lines.of('launcher/0'))


def test_what_does_not_stop_is_killed_and_named(marker):
  def stubborn():
    print('on and on')
    while True:
      time.sleep(1)

  result, _ = helpers.run(
    helpers.program(
      stubborn=stubborn,
      stopper=lambda: lp.stop(),
    ),
    grace=0.5,
  )
  assert result.exit_code == 0
  assert result.killed == ('stubborn/0',)


def test_stop_handlers_of_launchpad(marker, tmp_path):
  def handled():
    stopped = threading.Event()
    lp.register_stop_handler(stopped.set)
    (tmp_path / 'handled').touch()
    assert stopped.wait(20)
    print('handled')

  def event():
    assert lp.stop_event().wait(20)
    print('event')

  def waited():
    while not lp.wait_for_stop(0.05):
      pass
    print('waited')

  def stopper():
    helpers.wait_until((tmp_path / 'handled').exists, 'the handler')
    lp.stop()

  result, lines = helpers.run(
    helpers.program(
      handled=handled, event=event, waited=waited, stopper=stopper
    )
  )
  assert result.exit_code == 0
  for name in ('handled', 'event', 'waited'):
    assert lines.of(f'{name}/0') == [name]


class _Counter:
  def __init__(self, directory):
    self._directory = directory

  def pid(self):
    return os.getpid()

  def run(self):
    lp.wait_for_stop()


def _kill_it_twice(counter):
  pids = set()
  while len(pids) < 3:
    try:
      pid = counter.pid()
    except Exception:  # The server is away.
      time.sleep(0.05)
      continue
    if pid not in pids:
      pids.add(pid)
      if len(pids) < 3:
        os.kill(pid, signal.SIGKILL)
  print('three lives')
  lp.stop()


def test_restarts_at_the_same_address(marker, tmp_path):
  program = lp.Program('restarts')
  counter = program.add_node(
    lp.CourierNode(_Counter, str(tmp_path)), label='counter'
  )
  counter.set_client_kwargs(call_timeout=5)
  program.add_node(lp.PyNode(_kill_it_twice, counter), label='killer')
  result, lines = helpers.run(
    program,
    restart={
      'counter': this_machine.RestartPolicy(max_restarts=2, backoff=0.05)
    },
    log_dir=str(tmp_path),
  )
  assert result.exit_code == 0
  assert result.restarts == {'counter/0': 2, 'killer/0': 0}
  assert 'three lives' in lines.of('killer/0')
  assert any(
    'counter/0' in line and 'SIGKILL' in line for line in lines.of('launcher/0')
  )
  tasks = {t.label: t for t in status.read(str(tmp_path)).tasks}
  assert tasks['counter'].restarts == 2


def test_past_the_budget_the_run_ends(marker):
  result, lines = helpers.run(
    helpers.program(
      flaky=lambda: sys.exit('not again'), other=lambda: lp.wait_for_stop()
    ),
    restart={'flaky': this_machine.RestartPolicy(max_restarts=2, backoff=0.01)},
  )
  assert result.exit_code == 1
  assert result.restarts['flaky/0'] == 2
  assert lines.of('flaky/0').count('not again') == 3
  assert result.cause.task == 'flaky/0'


def test_what_would_fail_again_is_not_started_again(marker):
  def crash():
    error = ValueError('the reward is nan')
    error.ends_run = True
    raise error

  result, _ = helpers.run(
    helpers.program(crash=crash, other=lambda: lp.wait_for_stop()),
    restart={'crash': this_machine.RestartPolicy()},
  )
  assert (result.exit_code, result.restarts['crash/0']) == (1, 0)
  assert result.cause.ends_run
  assert result.cause.lines[-1] == 'ValueError: the reward is nan'


def test_lines_stay_whole_and_ordered_and_reach_the_files(marker, tmp_path):
  def talk():
    for i in range(200):
      print(f'{i} out')
      print(f'{i} err', file=sys.stderr)
    print('the rest', end='')

  result, lines = helpers.run(
    helpers.program(talker=[talk, talk]), log_dir=str(tmp_path)
  )
  assert result.exit_code == 0
  expected = [f'{i} {name}' for i in range(200) for name in ('out', 'err')]
  for index in range(2):
    assert lines.of(f'talker/{index}') == [*expected, 'the rest']
    log = (tmp_path / f'talker_{index}.log').read_text()
    assert log.splitlines() == [*expected, 'the rest']


def test_prints_with_the_task_in_front_once(marker, capfd):
  def talk():
    print('plain')
    print('[talker/0] named already')
    print('[talker/1] names another')

  this_machine.run(helpers.program(talker=talk))
  out = capfd.readouterr().out
  assert out.splitlines() == [
    '[talker/0] plain',
    '[talker/0] named already',
    '[talker/0] [talker/1] names another',
  ]


def test_a_failing_line_callback_ends_the_run(marker):
  def on_line(label, index, text):
    raise BrokenPipeError('nobody reads')

  def talk():
    while not lp.wait_for_stop(0.01):
      print('hello')

  result = this_machine.run(helpers.program(talker=talk), on_line=on_line)
  assert result.exit_code == 1
  assert result.cause.task == 'launcher'
  assert result.cause.lines[-1] == 'BrokenPipeError: nobody reads'


def test_a_child_of_a_crashed_task_is_killed(marker, tmp_path):
  def parent():
    code = f'open("{tmp_path}/up", "w"); import time; time.sleep(600)'
    child = subprocess.Popen([sys.executable, '-c', code])
    helpers.wait_until((tmp_path / 'up').exists, 'the child')
    print(child.pid)
    sys.exit(1)

  def watcher():
    helpers.wait_until((tmp_path / 'up').exists, 'the child')
    # What is left then: the parent of all tasks, and this one.
    helpers.wait_until(
      lambda: len(helpers.marked(marker)) == 2, 'the child to be killed'
    )
    # A stop ahead of the news of the crash would make it the run's failure.
    helpers.wait_until(
      lambda: 'backoff' in (t.state for t in status.read(str(tmp_path)).tasks),
      'the launcher to see the crash',
    )
    lp.stop()

  result, _ = helpers.run(
    helpers.program(parent=parent, watcher=watcher),
    restart={'parent': this_machine.RestartPolicy(max_restarts=1, backoff=600)},
    log_dir=str(tmp_path),
  )
  assert result.exit_code == 0


def test_in_a_thread_and_two_at_once(marker):
  results = {}

  def chat(name):
    class Server:
      def name(self):
        return name

    def ask(server):
      for _ in range(50):
        assert server.name() == name
      lp.stop()

    program = lp.Program(name)
    server = program.add_node(lp.CourierNode(Server), label='server')
    program.add_node(lp.PyNode(ask, server), label='client')
    results[name] = helpers.run(program)[0].exit_code

  before = signal.getsignal(signal.SIGINT)
  threads = [threading.Thread(target=chat, args=(n,)) for n in ('a', 'b')]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join(60)
  assert results == {'a': 0, 'b': 0}
  assert signal.getsignal(signal.SIGINT) is before


def test_the_same_program_can_run_again(marker):
  program = helpers.program(node=lambda: lp.stop())
  # Launchpad's own, where a test before this one ran threads by it.
  before = signal.getsignal(signal.SIGTERM)
  for _ in range(2):
    assert helpers.run(program)[0].exit_code == 0
  assert signal.getsignal(signal.SIGTERM) is before


def test_status_while_it_runs(marker, tmp_path):
  def look():
    def all_up():
      found = status.read(str(tmp_path))
      return all(t.state == 'running' for t in found.tasks) and found

    found = helpers.wait_until(all_up, 'all tasks to be up')
    uptimes = [found.uptime(task) for task in found.tasks]
    labels = [task.label for task in found.tasks]
    print(json.dumps([found.alive, found.launcher.pid, labels, uptimes]))
    lp.stop()

  result, lines = helpers.run(
    helpers.program(looker=look, other=lambda: lp.wait_for_stop()),
    log_dir=str(tmp_path),
  )
  assert result.exit_code == 0
  alive, pid, labels, uptimes = json.loads(lines.of('looker/0')[0])
  assert (alive, pid) == (True, os.getpid())
  assert labels == ['looker', 'other']
  assert all(uptime >= 0 for uptime in uptimes)
  after = status.read(str(tmp_path))
  assert not after.alive
  assert after.launcher.exit_code == 0
  assert after.tasks[1].state == 'stopped'


def test_a_parent_that_is_killed_fails_the_run(marker):
  def kill_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)

  result, _ = helpers.run(helpers.program(node=kill_parent))
  assert result.exit_code == 1
  assert result.cause.task == 'zygote'
  assert result.cause.signal == 'SIGKILL'


def test_a_preload_that_fails_is_the_cause(marker):
  result, _ = helpers.run(
    helpers.program(node=lambda: None), preload=['no_such_module']
  )
  assert result.exit_code == 1
  assert result.cause.task == 'zygote'
  assert "No module named 'no_such_module'" in result.cause.lines[-1]


def test_a_preload_with_threads_is_not_forked(marker, tmp_path, monkeypatch):
  (tmp_path / 'threaded.py').write_text(
    'import threading, time\n'
    'threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n'
  )
  monkeypatch.syspath_prepend(tmp_path)
  result, lines = helpers.run(
    helpers.program(node=lambda: print('here')), preload=['threaded']
  )
  assert result.exit_code == 0
  assert lines.of('node/0') == ['here']
  assert any('2 threads' in line for line in lines.of('launcher/0'))


def test_nodes_that_cannot_be_pickled_are_refused(marker):
  lock = threading.Lock()
  with pytest.raises(RuntimeError, match='locked/0'):
    this_machine.run(helpers.program(locked=lambda: lock.acquire()))


def test_an_empty_program_is_refused():
  with pytest.raises(ValueError, match='no nodes'):
    this_machine.run(lp.Program('empty'))


def test_a_stop_order_of_plain_labels_is_refused():
  with pytest.raises(ValueError, match='sequence of sequences'):
    this_machine.RunConfig(stop_order=['actor', 'learner'])
