"""A race on one machine, against what people would pick instead.

  make peers
  python -m benchmarks.single_machine [--work=sac,ppo,impala] [--repeats=3]

The peers are SBX, Sample Factory and RLlib, each in an environment of its own.
All sides do the same work on the same machine, one after the other, with
networks of 64x64 units:

  sac     Pendulum, batches of 256, a gradient step for each environment step;
          this program takes 8 gradient steps at once, and SBX one or 8
  ppo     CartPole, 32 environments (2 processes with 16 each, where a side has
          processes); 1,024 steps make 8 passes over 8 minibatches
  impala  CartPole, 2 processes with 8 environments each; this program's network
          has an LSTM besides, and RLlib's none

Steps are counted in a window that begins some seconds after the first gradient
step. The time until a return is reached begins with the command. A return is
the mean over the last 20 training episodes; of this program, over the last 20
rows of its actors, each of which has the return of one training episode.
"""

import csv
import math
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import compat  # noqa: F401

from absl import app, flags

from benchmarks.support import race, race_figure, sides

_WORKS = flags.DEFINE_list('work', [*race.WORKS], 'What to race.')
_REPEATS = flags.DEFINE_integer('repeats', 3, 'Runs of each side.')
_WARM_UP = flags.DEFINE_float(
  'warm_up', 8.0, 'Seconds from the first gradient step to the window.'
)
_WINDOW = flags.DEFINE_float('window', 15.0, 'Seconds to count.')
_LIMIT = flags.DEFINE_float(
  'limit', 60.0, 'Seconds after which a run ends, whatever its return.'
)
_CSV = flags.DEFINE_string('csv', None, 'File that gets the table.')
_FIGURE = flags.DEFINE_string('figure', None, 'Picture that is drawn of it.')
_POLL_SECONDS = 0.5


class Row(NamedTuple):
  """A side's medians.

  Attributes:
    work: a key of `race.WORKS`.
    side: who did it.
    steps_s: environment steps per second.
    updates_s: gradient steps per second.
    cpu_us_step: CPU time for an environment step and all that belongs to it, in
      microseconds.
    goal_s: seconds from the command to the return; infinite if it took longer
      than --limit.
  """

  work: str
  side: str
  steps_s: float
  updates_s: float
  cpu_us_step: float
  goal_s: float


def measure(work: str, side: str) -> Row:
  """Runs a side once.

  Raises:
    RuntimeError: the side ended, or did not learn within --limit; the message
      has its last lines.
  """
  with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
    began = time.time()
    with race.running(work, side, directory) as process:
      before = after = None
      while time.time() < began + _LIMIT.value or after is None:
        time.sleep(_POLL_SECONDS)
        sides.check(process, directory)
        points = race.points(work, side, directory)
        start = _window_start(points)
        if start is None:
          if time.time() > began + _LIMIT.value:
            raise RuntimeError(
              f'{side} did not learn {work} within --limit={_LIMIT.value:g}:\n'
              f'{sides.tail(directory)}'
            )
        elif before is None and time.time() > start:
          before = points[-1], sides.cpu(process)
        elif before and points[-1].time > before[0].time + _WINDOW.value:
          after = after or (points[-1], sides.cpu(process))
        goal = _goal_time(points, race.WORKS[work].goal)
        if after and goal is not None:
          break
  (a, cpu_before), (b, cpu_after) = before, after
  steps, seconds = b.steps - a.steps, b.time - a.time
  return Row(
    work,
    side,
    steps / seconds,
    (b.updates - a.updates) / seconds,
    1e6 * (cpu_after - cpu_before) / steps,
    math.inf if goal is None else goal - began,
  )


def _window_start(points: Sequence[race.Point]) -> float | None:
  """Returns the time at which steps are counted from, or None so far."""
  learning = (point.time for point in points if point.updates)
  first = next(learning, None)
  return None if first is None else first + _WARM_UP.value


def _goal_time(points: Sequence[race.Point], goal: float) -> float | None:
  return next((p.time for p in points if p.episode_return >= goal), None)


def medians(rows: Sequence[Row]) -> Row:
  """Returns one row for several runs of a side."""
  columns = zip(*(row[2:] for row in rows), strict=True)
  return Row(*rows[0][:2], *map(statistics.median, columns))


def measure_all(works: Sequence[str]) -> Iterator[Row]:
  """Yields the medians of all sides; their runs take turns."""
  for work in works:
    runs = {side: [] for side in (race.OURS, *race.WORKS[work].peers)}
    for _ in range(_REPEATS.value):
      for side, rows in runs.items():
        rows.append(measure(work, side))
        # A race takes minutes, so what runs is shown as it ends.
        print(f'{work}, {side}: run {len(rows)} has ended', file=sys.stderr)
    yield from map(medians, runs.values())


def conclusions(rows: Sequence[Row]) -> Iterator[str]:
  """Yields a sentence for each peer: this program's ratios to it."""
  ours = {row.work: row for row in rows if row.side == race.OURS}
  for row in rows:
    if row.side == race.OURS:
      continue
    own = ours[row.work]
    yield (
      f'{row.work}: {own.steps_s / row.steps_s:.2f} times the steps per second '
      f'of {row.side}; {_sooner(own.goal_s, row.goal_s)}'
    )


def _sooner(own: float, other: float) -> str:
  if math.isinf(own):
    return 'the return was not reached'
  if math.isinf(other):
    return f'the return after {own:.0f} s, the peer not in time'
  return f'the return after {own:.0f} s, the peer after {other:.0f} s'


def check(works: Sequence[str]) -> None:
  """Checks that all works are known, and that their peers are installed.

  Raises:
    app.UsageError: one is not; the message says what to do.
  """
  for work in works:
    if work not in race.WORKS:
      raise app.UsageError(f'--work={work} is none of {", ".join(race.WORKS)}')
    for peer in race.WORKS[work].peers:
      if not race.python(peer).exists():
        raise app.UsageError(f'{peer} is not installed: type `make peers`')


def table(rows: Sequence[Row]) -> Iterator[str]:
  """Yields the lines of a table: the columns' titles, then a line a side."""
  yield '  '.join(f'{name:>14}' for name in Row._fields)
  for row in rows:
    figures = [f'{x:.0f}' if math.isfinite(x) else 'not' for x in row[2:]]
    yield '  '.join(f'{cell:>14}' for cell in (*row[:2], *figures))


def write_csv(rows: Sequence[Row], path: pathlib.Path) -> None:
  """Writes the table to a CSV file, with four digits a figure."""
  with open(path, 'w', newline='') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow(Row._fields)
    for row in rows:
      writer.writerow((*row[:2], *(f'{value:.4g}' for value in row[2:])))


def main(_) -> None:
  """Prints the ratios, then the medians of each side."""
  check(_WORKS.value)
  rows = list(measure_all(_WORKS.value))
  for line in (*conclusions(rows), *table(rows)):
    print(line)
  if _CSV.value:
    write_csv(rows, pathlib.Path(_CSV.value))
  if _FIGURE.value:
    race_figure.draw(rows, pathlib.Path(_FIGURE.value))


if __name__ == '__main__':
  app.run(main)
