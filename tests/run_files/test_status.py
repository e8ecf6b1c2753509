"""The state of a run in a file."""

import json
import os
import socket
import subprocess

import pytest

from run_files import damage, status
from tests.run_files import disks


def _state(**launcher):
  pid = os.getpid()
  return {
    'launcher': {
      'pid': pid,
      'process_start': status.process_start(pid),
      'host': socket.gethostname(),
      'state': 'running',
      'exit_code': None,
      **launcher,
    },
    'tasks': [_task(0, 'running', 0.0), _task(1, 'waiting', None)],
  }


def _task(index, state, started):
  return {
    'label': 'a',
    'index': index,
    'pid': None,
    'state': state,
    'started': started,
    'restarts': 0,
    'exit_code': None,
    'addresses': [],
  }


def test_reads_what_was_written(tmp_path):
  status.write(str(tmp_path), _state())
  state = status.read(str(tmp_path))
  assert state['launcher']['alive']
  assert state['tasks'][0]['uptime'] > 0
  assert state['tasks'][1]['uptime'] is None
  assert os.listdir(tmp_path) == ['status.json']


@pytest.mark.parametrize(
  'launcher',
  [
    {'state': 'ended'},
    {'process_start': '1'},
    {'pid': 2**22 + 1},
    {'pid': None, 'process_start': None},
  ],
)
def test_a_launcher_that_is_gone_has_no_running_tasks(tmp_path, launcher):
  status.write(str(tmp_path), _state(**launcher))
  state = status.read(str(tmp_path))
  assert not state['launcher']['alive']
  assert state['tasks'][0]['uptime'] is None


def test_a_launcher_on_another_host_is_there_while_it_writes(tmp_path):
  state = _state(host='elsewhere', process_start='unknown here')
  status.write(str(tmp_path), state)
  assert status.read(str(tmp_path))['launcher']['alive']
  path = tmp_path / 'status.json'
  written = json.loads(path.read_text())
  written['written'] -= 60
  path.write_text(json.dumps(written))
  assert not status.read(str(tmp_path))['launcher']['alive']


def test_a_process_that_nobody_waited_for_is_not_there():
  process = subprocess.Popen(['sleep', '100'])
  start = status.process_start(process.pid)
  launcher = {'pid': process.pid, 'process_start': start}
  assert status.is_there(launcher)
  process.kill()
  os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
  assert not status.is_there(launcher)
  process.wait()


@pytest.mark.parametrize(
  'text, message',
  [
    ('{"launcher":', 'Expecting value'),
    ('{"launcher":{}}', 'no list of tasks'),
    ('{"launcher":{},"tasks":[]}', 'its launcher has no pid, process_start,'),
    ('[]', 'no list of tasks'),
  ],
)
def test_a_damaged_file_is_one_sentence(tmp_path, text, message):
  (tmp_path / 'status.json').write_text(text)
  with pytest.raises(damage.DamagedError, match=f'is damaged: .*{message}'):
    status.read(str(tmp_path))


def test_a_damaged_task_is_named(tmp_path):
  state = _state()
  del state['tasks'][1]['started']
  status.write(str(tmp_path), state)
  with pytest.raises(
    damage.DamagedError, match='one of its tasks has no started'
  ):
    status.read(str(tmp_path))


def test_on_a_full_disk_the_status_is_tried_again(tmp_path):
  said = []
  writer = status.Writer(str(tmp_path), said.append)
  writer.write(status.launcher('starting', None), [])
  with disks.full():
    for _ in range(2):
      writer.write(status.launcher('running', None), [])
  assert status.read(str(tmp_path))['launcher']['state'] == 'starting'
  writer.write(status.launcher('ended', 0), [])
  assert status.read(str(tmp_path))['launcher']['state'] == 'ended'
  first, second = said
  assert 'cannot be written now' in first and 'written again' in second


def test_no_run_is_one_sentence(tmp_path):
  with pytest.raises(FileNotFoundError, match='no run has kept its logs'):
    status.read(str(tmp_path))
