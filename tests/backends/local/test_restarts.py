"""Tasks that crash and are started again."""

import os
import signal
import subprocess
import sys
import time

import launchpad as lp

from backends.local import this_machine
from run_files import status
from tests import helpers


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


def test_a_child_of_a_crashed_task_is_killed(marker, tmp_path):
  def parent():
    code = f'open("{tmp_path}/up", "w"); import time; time.sleep(600)'
    child = subprocess.Popen([sys.executable, '-c', code])
    helpers.wait_until((tmp_path / 'up').exists, 'the child')
    print(child.pid)
    sys.exit(1)

  def watcher():
    helpers.wait_until((tmp_path / 'up').exists, 'the child')
    # Then only the zygote and this task are left.
    helpers.wait_until(
      lambda: len(helpers.marked(marker)) == 2, 'the child to be killed'
    )
    # The crash would fail the run if the launcher saw it during a stop.
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
