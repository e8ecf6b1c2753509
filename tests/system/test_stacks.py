"""The stacks of a process can be read even if it runs no Python."""

import functools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import launchpad as lp
import pytest

from run_files import status
from system import stacks
from tests import helpers

_HANGS = """
import ctypes, sys, threading
from system import linux, stacks

def step():
  if sys.argv[1] == 'holding the lock of the interpreter':
    ctypes.PyDLL(None).sleep(1000)
  threading.Event().wait()

linux.set_name('actor/0')
stacks.serve()
threading.Thread(target=threading.Event().wait, daemon=True).start()
print('ready', flush=True)
step()
"""


@pytest.fixture
def hang():
  processes = []

  def start(code, *args):
    process = subprocess.Popen(
      [sys.executable, '-c', code, *args],
      cwd=pathlib.Path(__file__).parents[2],
      stdout=subprocess.PIPE,
      text=True,
    )
    processes.append(process)
    assert process.stdout.readline() == 'ready\n'
    return process

  yield start
  for process in processes:
    process.kill()
    process.communicate()


@pytest.mark.parametrize(
  'how', ['waiting', 'holding the lock of the interpreter']
)
def test_a_process_that_hangs_tells_where(hang, how):
  process = hang(_HANGS, how)
  for _ in range(2):
    threads = helpers.wait_until(
      lambda: [
        thread
        for thread in stacks.ask(process.pid, 'actor/0')
        if 'step' in [frame.name for frame in thread]
      ],
      'its stacks',
    )
    (thread,) = threads
    assert thread[-1].name == '<module>'
    assert 0 < thread[-1].line < 20
  assert process.poll() is None


def _hang(path):
  pathlib.Path(path).touch()
  while True:
    time.sleep(1)


def test_a_task_of_a_run_tells_where(tmp_path):
  seen = []

  def look(path):
    tasks = helpers.wait_until(
      lambda: (
        pathlib.Path(path).exists()
        and status.read(str(tmp_path / 'logs')).tasks
      ),
      'a task that hangs',
    )
    (pid,) = (task.pid for task in tasks if task.label == 'actor')
    threads = helpers.wait_until(lambda: stacks.ask(pid, 'actor/0'), 'stacks')
    seen.extend(frame.name for thread in threads for frame in thread)
    (tmp_path / 'seen').touch()

  def stop():
    while not (tmp_path / 'seen').exists():
      time.sleep(0.05)
    lp.stop()

  hangs = str(tmp_path / 'hangs')
  looker = threading.Thread(target=look, args=[hangs])
  looker.start()
  helpers.run(
    helpers.program(actor=functools.partial(_hang, hangs), stopper=stop),
    log_dir=str(tmp_path / 'logs'),
    grace=1.0,
  )
  looker.join(30)
  assert '_hang' in seen


def test_a_process_that_does_not_serve_its_stacks_is_not_signalled(hang):
  process = hang(
    'import time; from system import linux; linux.set_name("actor/0"); '
    'print("ready", flush=True); time.sleep(1000)'
  )
  assert stacks.ask(process.pid, 'actor/0') == []
  assert process.poll() is None


def test_a_process_of_another_name_is_not_signalled(hang):
  process = hang(_HANGS, 'waiting')
  assert stacks.ask(process.pid, 'actor/1') == []
  os.kill(process.pid, signal.SIGKILL)
  process.wait()
  assert stacks.ask(process.pid, 'actor/0') == []
