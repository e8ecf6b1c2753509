"""What a run prints and writes, and what runs beside it."""

import json
import os
import signal
import sys
import threading

import launchpad as lp

from backends.local import this_machine
from run_files import status
from tests import helpers


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
  # An earlier test may have left a handler of Launchpad's.
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
