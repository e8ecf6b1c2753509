"""Measures the seconds until a program learns, and its memory.

  python -m benchmarks.startup --num_actors=1,2,4,16

Peer: Acme's own `DistributedLayout` on Launchpad's `local_mp` (see
`support.sides`). The two run one after the other.

A run is measured from its command until every actor and the learner have taken
a step. Then the run is ended. Each side first runs once without being counted,
so that Python's bytecode and the files that `launch.py` caches exist.
"""

import csv
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import compat  # noqa: F401

from absl import app, flags

from benchmarks.support import sides, stamps

_NUM_ACTORS = flags.DEFINE_list(
  'num_actors', ['1', '2', '4', '16'], 'Numbers of actors, one run for each.'
)
_PEER = flags.DEFINE_bool('peer', True, "Whether to run Acme's layout, too.")
_CSV = flags.DEFINE_string('csv', None, 'File that gets the table.')
_TIMEOUT = flags.DEFINE_float(
  'timeout', 600.0, 'Seconds after which a run has failed.', lower_bound=1.0
)

_POLL_SECONDS = 0.2
_SETTLE_SECONDS = 3.0
_MB = 1e6


class Row(NamedTuple):
  """One run.

  Attributes:
    side: `launch.py` or `acme`.
    actors: the number of actors.
    first_actor_s: seconds from the command to the first step of any actor.
    last_actor_s: seconds from the command to the last actor's first step.
    learner_s: seconds from the command to the end of the learner's first step.
    processes: the number of processes once the program learns, including the
      launcher.
    pss_mb: the proportional memory (PSS) of all processes, in 10^6 bytes.
    actor_pss_mb: the mean proportional memory of an actor, in 10^6 bytes.
  """

  side: str
  actors: int
  first_actor_s: float
  last_actor_s: float
  learner_s: float
  processes: int
  pss_mb: float
  actor_pss_mb: float


def measure(side: str, num_actors: int, kept: str) -> Row:
  """Runs one side until it learns.

  Args:
    side: `launch.py` or `acme`.
    num_actors: the number of actors.
    kept: a folder for the files that a side caches from one run to the next.

  Raises:
    RuntimeError: the program ended before it learned.
    TimeoutError: the program did not learn in time.
  """
  with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
    began = time.time()
    with sides.running(side, num_actors, directory, kept) as process:
      actors, learner = _wait(side, num_actors, directory, process)
      time.sleep(_SETTLE_SECONDS)
      memory = {
        p.pid: p.memory_full_info().pss / _MB for p in sides.tree(process.pid)
      }
  return Row(
    side=side,
    actors=num_actors,
    first_actor_s=min(actors.values()) - began,
    last_actor_s=max(actors.values()) - began,
    learner_s=learner - began,
    processes=len(memory),
    pss_mb=sum(memory.values()),
    actor_pss_mb=sum(memory[pid] for pid in actors) / len(actors),
  )


def _wait(
  side: str, num_actors: int, directory: str, process: subprocess.Popen
) -> tuple[dict[int, float], float]:
  """Waits until every actor and the learner have taken a step.

  Returns:
    The time of each actor's first step, by its pid, and the time of the
    learner's first step, in seconds since the epoch.
  """
  deadline = time.monotonic() + _TIMEOUT.value
  while True:
    actors = stamps.read(directory, 'actor')
    learner = _learner_time(side, directory)
    if len(actors) >= num_actors and learner is not None:
      return actors, learner
    sides.check(process, directory)
    if time.monotonic() > deadline:
      raise TimeoutError(
        f'{side} did not learn within --timeout={_TIMEOUT.value:g}; '
        f'{len(actors)} of {num_actors} actors have acted:\n'
        f'{sides.tail(directory)}'
      )
    time.sleep(_POLL_SECONDS)


def _learner_time(side: str, directory: str) -> float | None:
  if side == 'acme':
    return next(iter(stamps.read(directory, 'learner').values()), None)
  # The learner logs its first step, and the logger records the time.
  path = pathlib.Path(directory, 'run', 'metrics', 'learner_0.csv')
  try:
    with path.open(newline='') as f:
      return float(next(csv.DictReader(f))['time'])
  except (FileNotFoundError, StopIteration):
    return None


def conclusions(rows: Sequence[Row]) -> Iterator[str]:
  """Yields sentences that compare the sides, and numbers of actors."""
  by_side = {}
  for row in rows:
    by_side.setdefault(row.side, {})[row.actors] = row
  ours, peers = by_side['launch.py'], by_side.get('acme', {})
  for actors in sorted(ours.keys() & peers.keys()):
    ratio = peers[actors].learner_s / ours[actors].learner_s
    yield f'{actors} actors: learns {ratio:.1f} times sooner than acme'
  for side, runs in by_side.items():
    few, many = runs[min(runs)], runs[max(runs)]
    if few is not many:
      more = (many.pss_mb - few.pss_mb) / (many.actors - few.actors)
      slower = many.learner_s / few.learner_s
      yield (
        f'{side}: {many.actors} actors need {slower:.2f} times as long to '
        f'learn as {few.actors}; one more actor takes {more:.0f} MB'
      )


def measure_all() -> Iterator[Row]:
  """Yields the rows of all runs."""
  who = sides.SIDES if _PEER.value else sides.SIDES[:1]
  with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as kept:
    for side in who:
      measure(side, 1, kept)  # This run fills the caches and is not counted.
    for num_actors in map(int, _NUM_ACTORS.value):
      for side in who:
        yield measure(side, num_actors, kept)


def main(_) -> None:
  """Prints a row for each run, and sentences that compare them."""
  sides.report(Row, measure_all(), conclusions, _CSV.value)


if __name__ == '__main__':
  app.run(main)
