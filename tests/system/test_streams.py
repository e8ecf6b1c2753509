"""A process goes on if its output cannot be written."""

import pathlib
import shlex
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parents[2]
_CODE = """
import sys
from system import stops, streams
streams.begin()
for stream in (sys.stdout, sys.stderr):
  print('x' * 100_000, file=stream)
  print('y', file=stream, flush=True)
with open(sys.argv[1], 'w') as f:
  assert f.fileno() > 2
  print('done', file=f)
stops.leave(0)
"""


@pytest.mark.parametrize(
  'how',
  [
    '| true',
    '2>&1 | true',
    '>&-',
    '2>&-',
    '<&- >&- 2>&-',
    '>/dev/full',
    '2>/dev/full',
    '>/dev/full 2>&1',
  ],
)
def test_a_process_goes_on_though_its_output_cannot_be_written(tmp_path, how):
  command = shlex.join([sys.executable, '-c', _CODE, str(tmp_path / 'file')])
  done = subprocess.run(
    ['bash', '-c', f'{command} {how}; exit ${{PIPESTATUS[0]}}'],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert done.returncode == 0, done.stderr[-1000:]
  assert 'Error' not in done.stderr
  assert (tmp_path / 'file').read_text() == 'done\n'


def test_a_slow_reader_gets_everything():
  code = """
import os
from system import streams
os.set_blocking(1, False)
streams.begin()
print('x' * 1_000_000, flush=True)
"""
  reader = 'import sys, time; time.sleep(0.3); print(len(sys.stdin.read()))'
  python = shlex.quote(sys.executable)
  done = subprocess.run(
    f'{python} -c {shlex.quote(code)} | {python} -c {shlex.quote(reader)}',
    shell=True,
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert done.stdout == '1000001\n', done.stderr
