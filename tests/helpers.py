"""Helpers for tests that run real processes."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import launchpad as lp

from backends.local import this_machine

MARKER = 'BACKENDS_TEST_RUN'


class Lines:
  """Keeps all lines of a run's tasks; it is passed as `on_line`."""

  def __init__(self):
    self.all = []

  def __call__(self, label, index, text):
    self.all.append((f'{label}/{index}', text))

  def of(self, task):
    return [text for name, text in self.all if name == task]


def program(**functions):
  """Returns a program that runs each function in an `lp.PyNode`.

  Args:
    **functions: a function, or a list of functions, by the label of its group.
  """
  result = lp.Program('test')
  for label, group in functions.items():
    with result.group(label):
      for function in group if isinstance(group, list) else [group]:
        result.add_node(lp.PyNode(function))
  return result


def run(the_program, **config):
  """Runs a program; returns its result and its lines."""
  lines = Lines()
  config = this_machine.RunConfig(**config)
  return this_machine.run(the_program, config=config, on_line=lines), lines


def wait_until(condition, what, timeout=30.0):
  """Waits until `condition()` is true; returns its value."""
  deadline = time.monotonic() + timeout
  while not (value := condition()):
    if time.monotonic() > deadline:
      raise TimeoutError(f'waited {timeout} s for {what}')
    time.sleep(0.02)
  return value


def marked(marker):
  """Returns the pids of the processes whose environment has the marker."""
  found = []
  for name in filter(str.isdigit, os.listdir('/proc')):
    with contextlib.suppress(OSError), open(f'/proc/{name}/environ', 'rb') as f:
      if f'{MARKER}={marker}'.encode() in f.read().split(b'\0'):
        found.append(int(name))
  return found


def assert_nothing_left(marker, timeout=10.0):
  wait_until(
    lambda: not marked(marker), f'the processes of {marker} to end', timeout
  )


class Launcher:
  """A launcher in its own process, to which a test can send signals."""

  def __init__(self, main, directory, *args):
    """Starts `launchers.<main>(directory, *args)` in a new process."""
    self.marker = str(directory)
    code = (
      'import sys; from tests.backends.supervision import launchers; '
      f'sys.exit(launchers.{main}(*sys.argv[1:]))'
    )
    self.process = subprocess.Popen(
      [sys.executable, '-c', code, str(directory), *args],
      env={**os.environ, MARKER: self.marker},
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      start_new_session=True,
    )
    self.directory = directory

  def wait_for_file(self, name):
    path = self.directory / name
    wait_until(path.exists, f'{path}')
    return path

  def interrupt_terminal(self):
    """Sends SIGINT to the process group, as a terminal does at Ctrl-C."""
    os.killpg(self.process.pid, signal.SIGINT)

  def end(self, timeout=40.0):
    """Waits for the end; returns exit code, standard output and error."""
    try:
      stdout, stderr = self.process.communicate(timeout=timeout)
    finally:
      self.process.kill()
    return self.process.returncode, stdout, stderr


@contextlib.contextmanager
def launcher(main, directory, *args):
  """Yields a `Launcher`, and kills it at the end if it still runs."""
  started = Launcher(main, directory, *args)
  try:
    yield started
  finally:
    started.process.kill()
    started.process.communicate()
