"""The launcher's side of sinks: it runs a process for each of them."""

import contextlib
import importlib
import pathlib
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

from reporting.sinks import follow
from run_files import metrics, tail

_HOME = str(pathlib.Path(__file__).parents[2])
# The process runs in the user's folder, where a package may have our name.
_CODE = f"""
import pathlib, sys
sys.path[0] = {_HOME!r}
from reporting.sinks import follow
follow.main(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]))
"""
_POLL_SECONDS = 0.5
# Seconds that sinks have after the end of a run to take the last rows.
_END_SECONDS = 20
_MAX_PAUSE_SECONDS = 300.0


@contextlib.contextmanager
def following(
  names: Iterable[str],
  run_dir: pathlib.Path,
  print_fn: Callable[[str], None],
  seconds: int = _END_SECONDS,
) -> Iterator[list['Follower']]:
  """Has sinks follow a run while the body runs, and then take the last rows.

  Args:
    names: the sinks' names; see `reporting.sinks`.
    run_dir: the run directory; the run need not have begun.
    print_fn: prints a sentence about a sink that does not work.
    seconds: how long all sinks together may take for the last rows.

  Yields:
    A follower for each sink.
  """
  followers = [Follower(name, run_dir, print_fn, seconds) for name in names]
  for follower in followers:
    follower.start()
  try:
    yield followers
  finally:
    for follower in followers:
      follower.ask_to_end()
    for follower in followers:
      follower.end()


def send(
  names: Iterable[str],
  run_dir: pathlib.Path,
  print_fn: Callable[[str], None],
  seconds: int,
) -> list['Follower']:
  """Has sinks take the rows that a run has by now.

  Args:
    names: the sinks' names; see `reporting.sinks`.
    run_dir: the run directory.
    print_fn: prints a sentence about a sink that does not work.
    seconds: how long all sinks together may take.

  Returns:
    A follower for each sink, which has ended.
  """
  followers = [Follower(name, run_dir, print_fn, seconds) for name in names]
  for follower in followers:
    follower.ask_to_end()
    follower.start()
  for follower in followers:
    follower.end()
  return followers


class Follower:
  """Feeds one sink by a process, and by another one when that fails.

  Attributes:
    name: the sink's.
    has_all: whether the sink got every row; known once the follower has ended.
  """

  def __init__(
    self,
    name: str,
    run_dir: pathlib.Path,
    print_fn: Callable[[str], None],
    seconds: int,
  ):
    """See `following`."""
    self.name = name
    self._run_dir = run_dir
    self._seconds = seconds
    self._print = lambda text: print_fn(f'{name}: {text}')
    self._log = run_dir / 'logs' / f'metrics_{name}.log'
    self._lock = threading.Lock()
    self._ending = threading.Event()
    self._process: subprocess.Popen | None = None
    self._is_down = False
    self._is_late = False
    self.has_all = False
    self._thread = threading.Thread(target=self._feed, name=name, daemon=True)

  def start(self) -> None:
    """Begins to feed the sink; if it was asked to end, it tries once."""
    self._thread.start()

  def ask_to_end(self) -> None:
    """Asks it to hand over the rows so far and end; returns at once."""
    with self._lock:
      self._ending.set()
      if self._process is not None and self._process.stdin is not None:
        self._process.stdin.close()

  def end(self) -> None:
    """Waits for the end, and says how many rows did not get to the sink."""
    # The process ends itself at its deadline, unless it is suspended.
    self._thread.join(self._seconds + 2)
    if self._thread.is_alive():
      self._is_late = True
      self._process.kill()
      self._thread.join(2)
    if not self.has_all:
      self._print(self._what_is_missing())

  def _feed(self) -> None:
    pause, self.has_all = 1.0, not self._wait_for_rows()
    while not self.has_all:
      is_last = self._ending.is_set()
      try:
        exit_code = self._run()
      except OSError as e:
        self._complain(str(e))
        exit_code = 1
      self.has_all = exit_code == 0
      self._is_late |= exit_code == -signal.SIGALRM
      if not self.has_all and not self._is_late:
        self._complain(f'its process ended with exit code {exit_code}')
      was_killed = exit_code < 0
      if is_last or (was_killed and self._ending.is_set()):
        return
      self._ending.wait(pause)
      pause = min(2 * pause, _MAX_PAUSE_SECONDS)

  def _wait_for_rows(self) -> bool:
    """Waits for the run's first row; returns whether one came before the end.

    Until then it starts no process, and makes no folder.
    """
    while True:
      # Asked before the rows are looked for, so that none is missed.
      is_last = self._ending.is_set()
      if metrics.paths(self._run_dir):
        return True
      if is_last:
        return False
      self._ending.wait(_POLL_SECONDS)

  def _run(self) -> int:
    """Runs a process to its end; returns its exit code."""
    self._log.parent.mkdir(exist_ok=True)
    with self._lock, self._log.open('a') as log:
      self._process = subprocess.Popen(
        [
          *(sys.executable, '-c', _CODE),
          *(self.name, str(self._run_dir), str(self._seconds)),
        ],
        # Its end tells the process to end, as does the launcher's death.
        stdin=subprocess.DEVNULL if self._ending.is_set() else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        # Ctrl-C is for the launcher.
        start_new_session=True,
      )
    with self._process.stdout as lines:
      for line in lines:
        self._hear(line.rstrip('\n'))
    return self._process.wait()

  def _hear(self, line: str) -> None:
    if line != follow.UP:
      self._complain(line)
    elif self._is_down:
      self._is_down = False
      self._print('takes metrics again, and has all that came meanwhile')

  def _complain(self, reason: str) -> None:
    if self._is_down:
      return
    self._is_down = True
    then = 'metrics/ keeps every row'
    if not self._ending.is_set():
      then = f'The run goes on, and {then} until it does; it is tried again'
    self._print(f'takes no metrics ({reason}). {then}. More in {self._log}')

  def _what_is_missing(self) -> str:
    try:
      num_rows = {p.stem: tail.count(p) for p in metrics.paths(self._run_dir)}
    except OSError as e:
      return f'some rows did not get there: {e}'
    total = sum(num_rows.values())
    module = importlib.import_module(f'reporting.sinks.{self.name}')
    try:
      has = module.sent(self._run_dir)
      missing = f'{total - sum(has[p] for p in num_rows):,} of {total:,}'
    except (OSError, ValueError, KeyError, TypeError):
      # The sink's own files are damaged.
      missing = f'some of {total:,}'
    late = f' within {self._seconds} s (more in {self._log})'
    run_dir = shlex.quote(str(self._run_dir))
    return (
      f'{missing} rows did not get there{late if self._is_late else ""}. To '
      f'send them: python launch.py send-metrics {run_dir} '
      f'--metrics={self.name}'
    )
