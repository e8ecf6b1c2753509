"""Stops short runs in every way at random moments; they end as they should.

To try other moments, or more of them, type
python -m tests.e2e.test_hundred_stops FIRST_SEED COUNT
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from tests import helpers
from tests.e2e import runs

_AT_A_TIME = 2
_AGENTS = {
  'ppo': ('gym:CartPole-v1', 'unroll_length=16,batch_size=4,num_minibatches=2'),
  'dqn': ('gym:CartPole-v1', 'min_replay_size=50,batch_size=16'),
  'impala': ('gym:CartPole-v1', 'sequence_length=10,batch_size=4'),
  'sac': ('gym:Pendulum-v1', 'min_replay_size=100,batch_size=16'),
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WAYS = ('end', 'stop', *_SIGNALS)
# The earliest stop comes while Python starts, the latest after a run has ended.
_FIRST_SECONDS, _LAST_SECONDS = 0.1, 25.0
# Within so many seconds launch.py handles signals, and has tasks.
_BEGINS_SECONDS = 60.0
_END_SECONDS = 120.0
_LONG, _SHORT = 1_000_000, 300
_AMISS = re.compile(
  r'Traceback|killing|Not stopped|Timeout \(|did not answer|refused|terminate '
  'called|Check failed|Exception ignored'
)
_UNFINISHED = re.compile(r'\.unfinished|\.nodes-|\.config-|\.new$|\.tmp$')


@dataclasses.dataclass
class Stop:
  """A run, and how it is stopped.

  Attributes:
    seed: the seed from which the other values are drawn.
    agent: the agent that learns.
    way: 'end' if the run ends by itself, 'stop' if the verb `stop` stops it,
      or else the signal that stops it.
    seconds: the seconds from the start until the run is stopped.
    is_late: whether these seconds begin when the run's tasks start, rather than
      when the run's command starts.
    num_steps: the environment steps after which the run ends by itself.
  """

  seed: int
  agent: str
  way: str | signal.Signals
  seconds: float
  is_late: bool
  num_steps: int


def make(seed: int) -> Stop:
  """Returns a run and its stop, drawn at random from a seed."""
  draw = random.Random(seed)
  way = _WAYS[seed % len(_WAYS)]
  agent = [*_AGENTS][seed // len(_WAYS) % len(_AGENTS)]
  ratio = _LAST_SECONDS / _FIRST_SECONDS
  # Half of the stops come within the first five seconds.
  seconds = _FIRST_SECONDS * ratio ** draw.random() ** 0.5
  # A short run may already be ending by itself when it is stopped.
  is_short = way == 'end' or draw.random() < 0.4
  num_steps = _SHORT if is_short else _LONG
  # On a busy machine, imports take most of the time before the tasks start.
  is_late = draw.random() < 0.5
  return Stop(seed, agent, way, seconds, is_late, num_steps)


def play(stop: Stop, folder: pathlib.Path) -> list[str]:
  """Starts a run and stops it; returns a text for each thing that went wrong.

  Args:
    stop: the run, and how it is stopped.
    folder: an empty folder for the run's files.
  """
  run_dir, temporary = folder / 'run', folder / 'tmp'
  temporary.mkdir()
  marker = str(folder)
  env = {**os.environ, helpers.MARKER: marker, 'TMPDIR': str(temporary)}
  env_name, config = _AGENTS[stop.agent]
  command = [
    *(sys.executable, 'launch.py', f'--agent={stop.agent}'),
    *(f'--env={env_name}', f'--config={config}', '--num_actors=1'),
    *(f'--num_steps={stop.num_steps}', f'--run_dir={run_dir}'),
    '--checkpoint_every=5',
  ]
  output_path = folder / 'output'
  with output_path.open('w') as output:
    process = subprocess.Popen(
      command, cwd=runs.ROOT, env=env, stdout=output, stderr=output
    )
  wrong = []
  try:
    expected = _end(stop, process, run_dir, env)
    code = process.wait(_END_SECONDS)
    if code not in expected:
      wrong.append(f'exit code {code}, not {expected}')
  except subprocess.TimeoutExpired:
    wrong.append(f'no end within {_END_SECONDS:.0f} s')
  finally:
    process.kill()
    process.wait()
  return wrong + _left(marker, folder)


def _end(stop: Stop, process, run_dir: pathlib.Path, env) -> tuple[int, ...]:
  """Stops a run; returns the exit codes that are right for it."""
  if stop.way == 'end':
    return (0,)
  if stop.is_late:
    status = run_dir / 'logs' / 'status.json'
    helpers.wait_until(status.exists, 'tasks', _BEGINS_SECONDS)
  try:
    process.wait(stop.seconds)
    return (0,)
  except subprocess.TimeoutExpired:
    pass
  if stop.way == 'stop':
    return _ask_to_stop(process, run_dir, env)
  helpers.wait_until(
    lambda: _handles(process.pid), 'launch.py', _BEGINS_SECONDS
  )
  # After its last line, a run may end before it receives the signal.
  leaves = _has_said_all(run_dir)
  process.send_signal(stop.way)
  return (128 + stop.way, *([0] if leaves else []))


def _ask_to_stop(process, run_dir, env) -> tuple[int, ...]:
  """Types the verb `stop` until it works; returns exit codes as `_end` does."""
  deadline = time.monotonic() + _BEGINS_SECONDS
  while process.poll() is None:
    asked = subprocess.run(
      [sys.executable, 'launch.py', 'stop', run_dir],
      cwd=runs.ROOT,
      env=env,
      capture_output=True,
      text=True,
      timeout=_END_SECONDS,
    )
    if asked.returncode == 0:
      leaves = _has_said_all(run_dir)
      return (128 + signal.SIGTERM, *([0] if leaves else []))
    # Until the run has written its status, the verb refuses.
    if asked.returncode != 2 or time.monotonic() > deadline:
      raise AssertionError(f'stop: {asked.stdout}{asked.stderr}')
    time.sleep(0.2)
  return (0,)


def _has_said_all(run_dir: pathlib.Path) -> bool:
  """Returns whether a run has printed the last line, as one that ends well."""
  output = (run_dir.parent / 'output').read_text(errors='replace')
  return f'{run_dir / "policy"}\n' in output


def _handles(pid: int) -> bool:
  """Returns whether a process handles SIGHUP, which plain Python does not."""
  try:
    with open(f'/proc/{pid}/status') as f:
      caught = re.search(r'^SigCgt:\s*(\w+)', f.read(), re.MULTILINE)
  except OSError:
    return True  # It has ended.
  return not caught or bool(int(caught[1], 16) >> (signal.SIGHUP - 1) & 1)


def _left(marker: str, folder: pathlib.Path) -> list[str]:
  """Returns a text for each thing that a run has left or printed wrongly."""
  wrong = []
  try:
    helpers.assert_nothing_left(marker)
  except TimeoutError:
    wrong.append(f'processes {helpers.marked(marker)}')
  if left := sorted((folder / 'tmp').rglob('*')):
    wrong.append(f'files {left}')
  files = [path for path in (folder / 'run').rglob('*') if path.is_file()]
  if left := [str(path) for path in files if _UNFINISHED.search(path.name)]:
    wrong.append(f'files {left}')
  for path in [folder / 'output', *(folder / 'run').glob('logs/*.log')]:
    lines = path.read_text(errors='replace').splitlines()
    wrong += [f'{path.name}: {x}' for x in lines if _AMISS.search(x)]
  return wrong


def play_all(seeds, directory: pathlib.Path) -> list[str]:
  """Plays the stop of each seed; returns a text for each run that failed."""

  def one(seed: int) -> str | None:
    stop = make(seed)
    folder = directory / str(seed)
    folder.mkdir()
    try:
      wrong = play(stop, folder)
    except Exception as e:
      wrong = [f'{type(e).__name__}: {e}']
    if not wrong:
      return None
    output = (folder / 'output').read_text(errors='replace')
    return '\n  '.join([f'{stop}', *wrong, *output.splitlines()[-60:]])

  with concurrent.futures.ThreadPoolExecutor(_AT_A_TIME) as pool:
    misses = [*filter(None, pool.map(one, seeds))]
  print(f'{len(seeds) - len(misses)} of {len(seeds)} ended as they should')
  print('\n'.join(misses), flush=True)
  return misses


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_a_hundred_runs_end_as_they_should(tmp_path):
  misses = play_all(range(100), tmp_path)
  assert not misses, '\n'.join(misses)


if __name__ == '__main__':
  first, count = map(int, sys.argv[1:])
  # After a shell's `&`, this process and its runs would ignore SIGINT.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  with tempfile.TemporaryDirectory() as scratch:
    found = play_all(range(first, first + count), pathlib.Path(scratch))
  sys.exit(bool(found))
