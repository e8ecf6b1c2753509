"""While a run goes on, tasks of a role are added and removed."""

import pathlib
import threading
import types

import launchpad as lp

from backends.local import this_machine
from backends.supervision import scaling
from run_files import scale_requests, status
from run_files.status import TaskState
from tests import helpers


def _work(folder, index):
  (pathlib.Path(folder) / f'worker{index}').touch()
  while not lp.wait_for_stop(0.05):
    if (pathlib.Path(folder) / 'end').exists():
      lp.stop()
  print('stopped')


def _program(folder, count):
  program = lp.Program('workers')
  with program.group('worker'):
    for index in range(count):
      program.add_node(lp.PyNode(_work, str(folder), index))
  return program


class _Run:
  """A run in a separate thread. Tests change its number of workers."""

  def __init__(self, folder, resize):
    self._folder = str(folder)
    self.lines = helpers.Lines()
    self._thread = threading.Thread(target=self._run, args=[resize])
    self._thread.start()
    self.wait_for(2)

  def _run(self, resize):
    self.result = this_machine.run(
      _program(self._folder, 2),
      config=this_machine.RunConfig(log_dir=self._folder),
      on_line=self.lines,
      resize=resize,
    )

  def ask(self, count):
    return self.answer(self.request(count))

  def request(self, count):
    return scale_requests.ask(self._folder, 'worker', count)

  def answer(self, key):
    helpers.wait_until(
      lambda: scale_requests.answer(self._folder, key) is not None, 'answer'
    )
    return scale_requests.answer(self._folder, key)

  def wait_for(self, count):
    def has():
      try:
        tasks = status.read(self._folder).tasks
      except FileNotFoundError:
        return False
      return [task.state for task in tasks] == ['running'] * count

    helpers.wait_until(has, f'{count} workers')

  def end(self):
    (pathlib.Path(self._folder) / 'end').touch()
    self._thread.join(30)
    return self.result


def test_workers_come_and_go(tmp_path):
  run = _Run(tmp_path, lambda label, count: _program(tmp_path, count))
  assert run.ask(4) == ''
  run.wait_for(4)
  helpers.wait_until((tmp_path / 'worker3').exists, 'work of the fourth')
  assert run.ask(1) == ''
  run.wait_for(1)
  assert run.lines.of('worker/3') == ['stopped']
  assert run.ask(2) == ''
  run.wait_for(2)
  assert run.end().exit_code == 0


def test_a_program_that_cannot_be_made_leaves_the_run_as_it_was(tmp_path):
  def resize(label, count):
    if count > 2:
      raise ValueError(f'no {label} beyond 2')
    return _program(tmp_path, count)

  run = _Run(tmp_path, resize)
  assert run.ask(3) == 'ValueError: no worker beyond 2'
  run.wait_for(2)
  assert run.end().exit_code == 0


def test_a_malformed_request_is_answered_and_the_run_goes_on(tmp_path):
  run = _Run(tmp_path, lambda label, count: _program(tmp_path, count))
  texts = ['{"label":', '[]', '{"label": "worker", "count": "3"}', '\udcff']
  for index, text in enumerate(texts):
    content = text.encode(errors='surrogateescape')
    (tmp_path / f'scale-{index}.json').write_bytes(content)
    assert run.answer(str(index))
  assert run.ask(3) == ''
  run.wait_for(3)
  assert run.end().exit_code == 0


def test_a_run_of_fixed_size_says_so(tmp_path):
  run = _Run(tmp_path, None)
  assert 'fixed' in run.ask(3)
  run.wait_for(2)
  assert run.end().exit_code == 0


def test_requests_at_the_same_time_each_get_their_own_answer(tmp_path):
  def resize(label, count):
    if count > 4:
      raise ValueError(f'no {label} beyond 4')
    return _program(tmp_path, count)

  run = _Run(tmp_path, resize)
  keys = [run.request(count) for count in (5, 3, 6, 4)]
  answers = [run.answer(key) for key in keys]
  refused = 'ValueError: no worker beyond 4'
  assert answers == [refused, '', refused, '']
  run.wait_for(4)
  assert run.end().exit_code == 0


def _supervisor(tasks, **more):
  """Returns a fake supervisor that has the attributes a `Scaler` uses."""
  return types.SimpleNamespace(
    stop=types.SimpleNamespace(has_begun=False),
    tasks=types.SimpleNamespace(all=tasks, find=lambda names: tasks),
    note=print,
    **more,
  )


def test_the_answer_comes_when_the_new_tasks_run(tmp_path):
  new = types.SimpleNamespace(
    name='worker/0', label='worker', state=TaskState.WAITING
  )
  added = []
  supervisor = _supervisor(added, add=lambda program: added.append(new))
  scaler = scaling.Scaler(str(tmp_path), lambda *_: None, lambda names: None)
  key = scale_requests.ask(str(tmp_path), 'worker', 1)

  def look():
    scaler.look(supervisor)
    return scale_requests.answer(str(tmp_path), key)

  helpers.wait_until(lambda: look() is not None or added, 'the task')
  for new.state in (
    TaskState.WAITING,
    TaskState.STARTING,
    TaskState.LOST,
    TaskState.STARTING,
  ):
    assert look() is None
  new.state = TaskState.RUNNING
  assert look() == ''


def test_a_run_that_stops_meanwhile_answers_so(tmp_path):
  supervisor = _supervisor([])
  is_there = threading.Event()
  scaler = scaling.Scaler(
    str(tmp_path), lambda *_: None, lambda names: is_there.wait(30)
  )
  key = scale_requests.ask(str(tmp_path), 'worker', 1)
  scaler.look(supervisor)
  supervisor.stop.has_begun = True
  scaler.look(supervisor)
  assert scale_requests.answer(str(tmp_path), key) == 'the run stops'
  is_there.set()
