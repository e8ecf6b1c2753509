"""Measures the steps per second of actors and learner.

  python -m benchmarks.throughput --num_actors=2,4

Peer: Acme's own `DistributedLayout` on Launchpad's `local_mp` (see
`support.sides`). The two run one after the other.

Each side has its own evaluator: Acme's never rests, and this program's
evaluates every 3 s. The replay servers count the steps of both sides in the
same way: an environment step inserts an item, and a learner step samples a
batch.
"""

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import compat  # noqa: F401

from absl import app, flags

from benchmarks.support import sides
from programs.agents import sac
from reverb_wire import table_info
from watchdog import servers

_NUM_ACTORS = flags.DEFINE_list(
  'num_actors', ['2'], 'Actors, one run for each.'
)
_SIDES = flags.DEFINE_multi_enum(
  'side', sides.SIDES, sides.SIDES, 'Sides to run.'
)
_WARM_UP = flags.DEFINE_float(
  'warm_up', 15.0, 'Seconds from the first learner step to the window.'
)
_WINDOW = flags.DEFINE_float('window', 45.0, 'Seconds to count.')
_TIMEOUT = flags.DEFINE_float(
  'timeout', 300.0, 'Seconds within which a side must learn.'
)
_CSV = flags.DEFINE_string('csv', None, 'File that gets the table.')
_POLL_SECONDS = 1.0


class Row(NamedTuple):
  """One run.

  Attributes:
    side: one of `sides.SIDES`.
    actors: the number of actors.
    actor_steps_s: steps per second of all actors together.
    learner_steps_s: steps per second of the learner.
    sum_s: the sum of these two.
    cpu: CPU seconds per second of all processes together.
  """

  side: str
  actors: int
  actor_steps_s: float
  learner_steps_s: float
  sum_s: float
  cpu: float


def measure(side: str, num_actors: int, kept: str) -> Row:
  """Runs one side for a window.

  Args:
    side: one of `sides.SIDES`.
    num_actors: the number of actors.
    kept: a folder for the files that a side caches from one run to the next.

  Raises:
    RuntimeError: the program ended.
    TimeoutError: the program did not learn in time.
  """
  with (
    tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory,
    sides.running(side, num_actors, directory, kept) as process,
  ):
    address = _wait(side, directory, process)
    time.sleep(_WARM_UP.value)
    began, before, cpu = time.monotonic(), _replay(address), sides.cpu(process)
    time.sleep(_WINDOW.value)
    sides.check(process, directory)
    seconds = time.monotonic() - began
    after, cpu = _replay(address), sides.cpu(process) - cpu
  actor = (after.inserts - before.inserts) / seconds
  batches = (after.samples - before.samples) / sac.Config().batch_size
  learner = batches / seconds
  return Row(side, num_actors, actor, learner, actor + learner, cpu / seconds)


def _wait(side: str, directory: str, process: subprocess.Popen) -> str:
  """Waits for the learner to sample; returns the address of replay."""
  deadline = time.monotonic() + _TIMEOUT.value
  while time.monotonic() < deadline:
    sides.check(process, directory)
    address = sides.replay_address(side, directory)
    if address and servers.ask([address]).tables and _replay(address).samples:
      return address
    time.sleep(_POLL_SECONDS)
  raise TimeoutError(
    f'{side} did not learn within --timeout={_TIMEOUT.value:g}:\n'
    f'{sides.tail(directory)}'
  )


def _replay(address: str) -> table_info.TableInfo:
  ((table, *_),) = servers.ask([address]).tables[address]
  return table


def conclusions(rows: Sequence[Row]) -> Iterator[str]:
  """Yields a sentence for each number of actors: the ratio of the sides."""
  sums = {(row.side, row.actors): row.sum_s for row in rows}
  for (side, actors), ours in sums.items():
    if side == 'launch.py' and ('acme', actors) in sums:
      ratio = ours / sums['acme', actors]
      yield f'{actors} actors: {ratio:.2f} times the steps a second of acme'


def measure_all() -> Iterator[Row]:
  """Yields the rows of all runs."""
  with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as kept:
    for num_actors in map(int, _NUM_ACTORS.value):
      for side in _SIDES.value:
        yield measure(side, num_actors, kept)


def main(_) -> None:
  """Prints a row for each run, and the ratios."""
  sides.report(Row, measure_all(), conclusions, _CSV.value)


if __name__ == '__main__':
  app.run(main)
