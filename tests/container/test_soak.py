"""Runs a short form of `python -m benchmarks.soak`."""

import pathlib
import subprocess
import sys


def test_kills_tear_no_value_and_take_no_reader_back():
  command = [sys.executable, '-m', 'benchmarks.soak']
  command += ['--seconds=6', '--kill_every=1']
  done = subprocess.run(
    command,
    cwd=pathlib.Path(__file__).parents[2],
    capture_output=True,
    text=True,
    timeout=240,
  )
  assert done.returncode == 0, done.stderr[-3000:]
  assert 'nothing torn, nothing back' in done.stdout
