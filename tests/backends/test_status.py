"""The state of a run in a file."""

import json
import os

import pytest

from backends import status


def _state(**launcher):
  pid = os.getpid()
  return {
    'launcher': {
      'pid': pid,
      'process_start': status.process_start(pid),
      'state': 'running',
      **launcher,
    },
    'tasks': [
      {'label': 'a', 'index': 0, 'state': 'running', 'started': 0.0},
      {'label': 'a', 'index': 1, 'state': 'waiting', 'started': None},
    ],
  }


def test_reads_what_was_written(tmp_path):
  status.write(str(tmp_path), _state())
  state = status.read(str(tmp_path))
  assert state['launcher']['alive']
  assert state['tasks'][0]['uptime'] > 0
  assert state['tasks'][1]['uptime'] is None
  assert os.listdir(tmp_path) == ['status.json']


@pytest.mark.parametrize(
  'launcher', [{'state': 'ended'}, {'process_start': '1'}, {'pid': 2**22 + 1}]
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


def test_no_run_is_one_sentence(tmp_path):
  with pytest.raises(FileNotFoundError, match='no run has kept its logs'):
    status.read(str(tmp_path))
