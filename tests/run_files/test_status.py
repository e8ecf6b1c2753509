"""The status of a run, as it is written and read."""

import json
import os
import subprocess

import pytest

from run_files import damage, status
from tests.run_files import disks, statuses


def _write(log_dir, **launcher):
  """Writes a task that runs and one that waits."""
  waiting = statuses.task(index=1, state='waiting', started=None)
  status.write(
    str(log_dir),
    statuses.launcher(**launcher),
    [statuses.task(), waiting],
  )


def _read(log_dir):
  return status.read(str(log_dir))


def test_reads_what_was_written(tmp_path):
  _write(tmp_path)
  found = _read(tmp_path)
  assert found.alive
  running, waiting = found.tasks
  assert (running, found.launcher) == (statuses.task(), statuses.launcher())
  assert found.uptime(running) > 0
  assert found.uptime(waiting) is None
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
  _write(tmp_path, **launcher)
  found = _read(tmp_path)
  assert not found.alive
  assert found.uptime(found.tasks[0]) is None


def test_a_launcher_on_another_host_is_alive_while_it_writes(tmp_path):
  _write(tmp_path, host='elsewhere', process_start='unknown here')
  assert _read(tmp_path).alive
  path = tmp_path / 'status.json'
  written = json.loads(path.read_text())
  written['written'] -= 60
  path.write_text(json.dumps(written))
  assert not _read(tmp_path).alive


def test_a_process_that_has_exited_unwaited_for_is_not_there():
  process = subprocess.Popen(['sleep', '100'])
  start = status.process_start(process.pid)
  launcher = statuses.launcher(pid=process.pid, process_start=start)
  assert launcher.is_there()
  process.kill()
  os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
  assert not launcher.is_there()
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
    _read(tmp_path)


def _has_damaged(tmp_path, message, change):
  _write(tmp_path)
  path = tmp_path / 'status.json'
  state = json.loads(path.read_text())
  change(state['tasks'][1])
  path.write_text(json.dumps(state))
  with pytest.raises(damage.DamagedError, match=message):
    _read(tmp_path)


def test_a_damaged_task_is_named(tmp_path):
  _has_damaged(
    tmp_path,
    'one of its tasks has no started',
    lambda task: task.pop('started'),
  )


def test_a_state_that_does_not_exist_is_damage(tmp_path):
  _has_damaged(
    tmp_path,
    "'dancing' is not a valid TaskState",
    lambda task: task.update(state='dancing'),
  )


def test_on_a_full_disk_the_status_is_tried_again(tmp_path):
  said = []
  writer = status.Writer(str(tmp_path), said.append)
  writer.write(statuses.launcher(state='starting'), [])
  with disks.full():
    for _ in range(2):
      writer.write(statuses.launcher(state='running'), [])
  assert _read(tmp_path).launcher.state == status.RunState.STARTING
  writer.write(statuses.launcher(state='ended', exit_code=0), [])
  assert _read(tmp_path).launcher.state == status.RunState.ENDED
  first, second = said
  assert 'cannot be written now' in first and 'written again' in second


def test_no_run_is_one_sentence(tmp_path):
  with pytest.raises(FileNotFoundError, match='no run has written its logs'):
    _read(tmp_path)
