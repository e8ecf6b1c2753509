"""Launchers with their programs. Tests start each in a separate process."""

import os
import pathlib
import subprocess
import sys
import time

import launchpad as lp

from backends.cluster import joining as joined
from backends.cluster import links
from backends.local import this_machine
from system import stops
from tests import helpers


def _touch(path):
  pathlib.Path(path).touch()


def _polite(directory, name):
  """Runs until it is asked to stop, and saves the time at which it stopped."""
  _touch(f'{directory}/{name}.up')
  lp.wait_for_stop()
  time.sleep(0.2)
  pathlib.Path(f'{directory}/{name}.down').write_text(str(time.monotonic()))


def _stubborn(directory):
  """Never stops. Its child ignores SIGTERM, and has a separate session."""
  code = (
    'import os, signal, time; os.setsid(); '
    'signal.signal(signal.SIGTERM, signal.SIG_IGN); '
    f'open("{directory}/child.up", "w"); time.sleep(600)'
  )
  subprocess.Popen([sys.executable, '-c', code])
  _touch(f'{directory}/stubborn.up')
  while True:
    time.sleep(1)


def staged(directory):
  """Runs three roles that stop one after another."""
  program = helpers.program(
    server=lambda: _polite(directory, 'server'),
    learner=lambda: _polite(directory, 'learner'),
    actor=lambda: _polite(directory, 'actor'),
  )
  config = this_machine.RunConfig(
    stop_order=[['actor'], ['learner'], ['server']], log_dir=directory
  )
  return this_machine.run(program, config=config).exit_code


def reporting(directory):
  """Writes a report after the run's end. Writing it takes one second."""
  exit_code = staged(directory)
  time.sleep(1)
  _touch(f'{directory}/report')
  return exit_code


def stubborn(directory, start, grace):
  """Runs a task that stops, and one that never stops and has a child."""
  program = helpers.program(
    polite=lambda: _polite(directory, 'polite'),
    stubborn=lambda: _stubborn(directory),
  )
  config = this_machine.RunConfig(
    grace=float(grace), start=start, log_dir=directory
  )
  return this_machine.run(program, config=config).exit_code


def preloading(directory):
  """Runs a program whose preloaded module never finishes its import."""
  path = pathlib.Path(directory) / 'endless_import.py'
  path.write_text(
    f'import time\nopen("{directory}/importing", "w")\ntime.sleep(600)\n'
  )
  sys.path.append(directory)
  program = helpers.program(node=lambda: None)
  config = this_machine.RunConfig(preload=['endless_import'])
  return this_machine.run(program, config=config).exit_code


def crashing(directory):
  """Runs a task that fails, and one that prints until it is stopped."""

  def crash():
    helpers.wait_until(
      lambda: os.path.exists(f'{directory}/noisy.up'), 'the noisy task'
    )
    raise ValueError('the very first cause')

  def noisy():
    while not lp.wait_for_stop(0.01):
      _touch(f'{directory}/noisy.up')
      print('noise')

  program = helpers.program(noisy=noisy, crash=crash)
  return this_machine.run(program).exit_code


def joining(directory):
  """Waits for daemons, like a launcher that Kubernetes starts."""
  stops.begin()
  key_path = pathlib.Path(directory, 'key')
  key_path.write_text('the key')
  os.environ.update({links.LISTEN: '0', links.KEY_FILE: str(key_path)})
  program = lp.Program('server')
  program.add_node(lp.CourierNode(dict), label='server')
  config = this_machine.RunConfig(log_dir=directory)
  return joined.run(program, config=config).exit_code
