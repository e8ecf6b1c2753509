"""What `launch.py --seeds=0,1,2` does: a run a seed, and what they came to."""

import contextlib
import functools
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from cli.settings import MAX_SEED, WrongUsage
from reporting import report, scores, summary
from run_files import run_dir as run_dir_lib
from system import linux, stops

# A run's learner and servers are busy too.
_BESIDE_ACTORS = 2
_POLL_SECONDS = 0.5
_LAUNCH = pathlib.Path(__file__).parents[1] / 'launch.py'


def parse(texts: Sequence[str]) -> list[int]:
  """Returns the seeds that `--seeds` names.

  Raises:
    WrongUsage: they are no seeds, or one is there twice.
  """
  try:
    seeds = [int(text) for text in texts]
  except ValueError:
    seeds = [-1]
  if not 0 <= min(seeds) <= max(seeds) <= MAX_SEED or len(set(seeds)) < len(
    seeds
  ):
    raise WrongUsage(
      f'--seeds: {",".join(texts)!r} is no list of different seeds up to '
      f'{MAX_SEED:,}; write them as 0,1,2'
    )
  return seeds


def run(
  seeds: Sequence[int],
  flags: Sequence[str],
  num_actors: int,
  directory: pathlib.Path,
) -> int:
  """Runs `launch.py` for each seed, and compares what came of them.

  As many go side by side as there are processors for, the others in turn.

  Args:
    seeds: of the runs.
    flags: all others of the command line.
    num_actors: of each run.
    directory: of the run directories `seed_0`, `seed_1`, ..., and the report.

  Returns:
    The exit code: 0 if all runs ended with that, else of the first that did
    not; after a stop the one for it.

  Raises:
    WrongUsage: a seed has run there already.
  """
  run_dirs = {seed: directory / f'seed_{seed}' for seed in seeds}
  for run_dir in run_dirs.values():
    if run_dir.exists():
      raise WrongUsage(f'--seeds: {run_dir} is there already')
  room = max(1, (os.cpu_count() or 1) // (num_actors + _BESIDE_ACTORS))
  runs = _Runs(flags, room)
  codes = runs.run(run_dirs)
  print(_table(run_dirs, codes), flush=True)
  began = [
    str(path) for path in run_dirs.values() if run_dir_lib.holds_run(path)
  ]
  if began:
    page = report.write(began, str(directory / 'report.html'))
    print(f'{"report":<15}{page}')
  if runs.stopped_by is not None:
    return 128 + runs.stopped_by
  return next(filter(None, codes.values()), 0)


class _Runs:
  """The runs that go on, and those that are to come."""

  def __init__(self, flags: Sequence[str], room: int):
    self._flags = tuple(flags)
    self._room = room
    self._going_on: dict[int, subprocess.Popen] = {}
    self._came: list[int] = []
    self.stopped_by: int | None = None

  def run(self, run_dirs: dict[int, pathlib.Path]) -> dict[int, int]:
    """Returns each seed's exit code, less those that a stop came before."""
    handlers = {
      signum: signal.signal(signum, self._take)
      for signum in stops.SIGNALS
      if signal.getsignal(signum) is not signal.SIG_IGN
    }
    waiting, codes = dict(run_dirs), {}
    try:
      while self._going_on or (waiting and self.stopped_by is None):
        while (
          waiting
          and len(self._going_on) < self._room
          and self.stopped_by is None
        ):
          seed = next(iter(waiting))
          self._start(seed, waiting.pop(seed))
        self._pass_on()
        codes.update(self._ended())
    finally:
      for signum, handler in handlers.items():
        signal.signal(signum, handler)
    return codes

  def _take(self, signum: int, frame) -> None:
    self.stopped_by = self.stopped_by or signum
    self._came.append(signum)

  def _pass_on(self) -> None:
    """Gives the runs the signals that came.

    A terminal has sent Ctrl-C to every process already, but not everything that
    sends one does; what comes twice at once, counts once there.
    """
    while self._came:
      signum = self._came.pop(0)
      for process in self._going_on.values():
        process.send_signal(signum)

  def _start(self, seed: int, run_dir: pathlib.Path) -> None:
    print(f'{"seed":<15}{seed}', flush=True)
    process = subprocess.Popen(
      [
        sys.executable,
        str(_LAUNCH),
        # Of a flag that is there twice, the last counts.
        *self._flags,
        '--seeds=',
        f'--seed={seed}',
        f'--run_dir={run_dir}',
      ],
      # Alone it has the terminal to itself.
      stdout=None if self._room == 1 else subprocess.PIPE,
      text=True,
      preexec_fn=functools.partial(_prepare, os.getpid()),
    )
    if process.stdout is not None:
      threading.Thread(target=_show, args=(seed, process.stdout)).start()
    self._going_on[seed] = process

  def _ended(self) -> dict[int, int]:
    """Waits a moment; returns the exit codes of the runs that have ended."""
    first = next(iter(self._going_on.values()))
    with contextlib.suppress(subprocess.TimeoutExpired):
      first.wait(timeout=_POLL_SECONDS)
    codes = {
      # As a shell has it, of one that a signal has ended.
      seed: code if code >= 0 else 128 - code
      for seed, process in self._going_on.items()
      if (code := process.poll()) is not None
    }
    for seed in codes:
      del self._going_on[seed]
    return codes


def _prepare(parent: int) -> None:
  """Prepares the process of a run, before it becomes another program."""
  linux.die_with_parent(parent)
  # Until it handles them, which it says by taking them again.
  signal.pthread_sigmask(signal.SIG_BLOCK, stops.SIGNALS)


def _show(seed: int, lines) -> None:
  for line in lines:
    print(f'seed {seed}  {line}', end='', flush=True)


def _table(run_dirs: dict[int, pathlib.Path], codes: dict[int, int]) -> str:
  lines, returns = [], []
  for seed, run_dir in run_dirs.items():
    final, note = float('nan'), 'did not begin'
    if seed in codes:
      final = summary.final_return(run_dir)
      note = f'exit code {codes[seed]}' if codes[seed] else ''
    if codes.get(seed) == 0 and math.isfinite(final):
      returns.append(final)
    elif not note:
      note = 'not evaluated'
    lines.append(
      f'{f"seed {seed} ":<15}return {final:>10,.1f}  {note}'.rstrip()
    )
  lines.append(f'{"all":<15}{scores.describe(returns)}')
  return '\n'.join(lines)
