"""`launch.py --seeds=0,1,2`: a run for each seed, and their returns."""

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

# The processors that a run's learner and servers need, besides its actors'.
_BESIDE_ACTORS = 2
_POLL_SECONDS = 0.5
_LAUNCH = pathlib.Path(__file__).parents[1] / 'launch.py'


def parse(texts: Sequence[str]) -> list[int]:
  """Returns the seeds that `--seeds` names.

  Args:
    texts: the seeds as they were typed.

  Raises:
    WrongUsage: a text is no seed, or a seed is named twice.
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
  """Runs `launch.py` for each seed, and compares the runs.

  As many runs go on at a time as there are processors for; the others wait.

  Args:
    seeds: a seed for each run.
    flags: the command line, without the program's name.
    num_actors: the number of actors in each run.
    directory: the directory for the run directories `seed_0`, `seed_1`, and so
      on, and for the report.

  Returns:
    The exit code: 0 if every run ended with 0, else the code of the first run
    that did not; after a signal, 128 and the signal's number.

  Raises:
    WrongUsage: the run directory of one of the seeds exists already.
  """
  run_dirs = {seed: directory / f'seed_{seed}' for seed in seeds}
  for run_dir in run_dirs.values():
    if run_dir.exists():
      raise WrongUsage(f'--seeds: {run_dir} exists already')
  processors = os.cpu_count() or 1
  runs = _Runs(flags, max(1, processors // (num_actors + _BESIDE_ACTORS)))
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
  """Runs `launch.py` for several seeds, a limited number at a time.

  Attributes:
    stopped_by: the number of the first signal that came; None if none came.
  """

  def __init__(self, flags: Sequence[str], max_at_a_time: int):
    self._flags = tuple(flags)
    self._max_at_a_time = max_at_a_time
    self._processes: dict[int, subprocess.Popen] = {}
    self._signals: list[int] = []
    self.stopped_by: int | None = None

  def run(self, run_dirs: dict[int, pathlib.Path]) -> dict[int, int]:
    """Runs each seed; returns the exit codes of those that began, by seed."""
    handlers = {
      signum: signal.signal(signum, self._on_signal)
      for signum in stops.SIGNALS
      if signal.getsignal(signum) is not signal.SIG_IGN
    }
    waiting, codes = dict(run_dirs), {}
    try:
      while self._processes or (waiting and self.stopped_by is None):
        while waiting and self._has_room():
          seed = next(iter(waiting))
          self._start(seed, waiting.pop(seed))
        self._pass_signals_on()
        codes.update(self._wait())
    finally:
      for signum, handler in handlers.items():
        signal.signal(signum, handler)
    return codes

  def _has_room(self) -> bool:
    is_free = len(self._processes) < self._max_at_a_time
    return is_free and self.stopped_by is None

  def _on_signal(self, signum: int, frame) -> None:
    del frame
    self.stopped_by = self.stopped_by or signum
    self._signals.append(signum)

  def _pass_signals_on(self) -> None:
    """Sends the runs the signals that came.

    A terminal sends Ctrl-C to the runs, too, but `kill` and schedulers signal
    this process alone. A run that gets one Ctrl-C twice counts it once.
    """
    while self._signals:
      signum = self._signals.pop(0)
      for process in self._processes.values():
        process.send_signal(signum)

  def _start(self, seed: int, run_dir: pathlib.Path) -> None:
    print(f'{"seed":<15}{seed}', flush=True)
    process = subprocess.Popen(
      [
        sys.executable,
        str(_LAUNCH),
        # If a flag is given twice, the last one counts.
        *self._flags,
        '--seeds=',
        f'--seed={seed}',
        f'--run_dir={run_dir}',
      ],
      # If the runs go one by one, each may draw its view on the terminal.
      stdout=None if self._max_at_a_time == 1 else subprocess.PIPE,
      text=True,
      preexec_fn=functools.partial(_prepare, os.getpid()),
    )
    if process.stdout is not None:
      threading.Thread(target=_show, args=(seed, process.stdout)).start()
    self._processes[seed] = process

  def _wait(self) -> dict[int, int]:
    """Waits a moment; returns the exit codes of the runs that have ended."""
    first = next(iter(self._processes.values()))
    with contextlib.suppress(subprocess.TimeoutExpired):
      first.wait(timeout=_POLL_SECONDS)
    codes = {
      # After a signal, Python's code is -signum and a shell's 128 + signum.
      seed: code if code >= 0 else 128 - code
      for seed, process in self._processes.items()
      if (code := process.poll()) is not None
    }
    for seed in codes:
      del self._processes[seed]
    return codes


def _prepare(parent: int) -> None:
  """Prepares the forked process of a run, before it executes `launch.py`."""
  linux.die_with_parent(parent)
  # The run unblocks them when it can handle them.
  signal.pthread_sigmask(signal.SIG_BLOCK, stops.SIGNALS)


def _show(seed: int, lines) -> None:
  for line in lines:
    print(f'seed {seed}  {line}', end='', flush=True)


def _table(run_dirs: dict[int, pathlib.Path], codes: dict[int, int]) -> str:
  """Returns a line for each seed, and one for all runs that ended well."""
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
