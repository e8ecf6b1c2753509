"""How a run is watched: its lines, the view, metrics and the watchdog."""

import contextlib
import dataclasses
import functools
import pathlib
import sys
from collections.abc import Iterator, Sequence

from backends.supervision import output
from cli.settings import Settings
from system import streams


@dataclasses.dataclass(frozen=True)
class Watch:
  """The flags that say how a run is watched.

  Attributes:
    stuck_after: the seconds without a step after which the watchdog says which
      task waits for which.
    quiet: whether to show no metrics.
    sinks: the names of the sinks that get metrics besides the CSV files.
  """

  stuck_after: float
  quiet: bool
  sinks: Sequence[str]


@contextlib.contextmanager
def watching(
  settings: Settings, run_dir: pathlib.Path, watch: Watch
) -> Iterator[output.OnLine]:
  """Watches a run while the body runs; yields its printer of tasks' lines."""
  from reporting.sinks import followers
  from watchdog import watchdog

  with contextlib.ExitStack() as stack:
    printer = stack.enter_context(_shown(settings, run_dir, watch.quiet))
    stack.enter_context(
      followers.following(
        watch.sinks, run_dir, functools.partial(printer, 'metrics', 0)
      )
    )
    stack.enter_context(
      watchdog.Watchdog(
        run_dir, watch.stuck_after, functools.partial(printer, 'watchdog', 0)
      )
    )
    yield printer


@contextlib.contextmanager
def _shown(
  settings: Settings, run_dir: pathlib.Path, quiet: bool
) -> Iterator[output.OnLine]:
  """Shows the run while the body runs; yields its printer of tasks' lines."""
  from cli import printing
  from view import frame, live

  # Asked now, since a view puts a pipe in the terminal's place.
  coloured = streams.takes_colours(sys.stdout)
  printer = printing.Printer(rows=not quiet, coloured=coloured, quiet=quiet)
  if quiet:
    yield printer
    return
  goal = frame.Goal(
    title=f'{settings.agent} on {settings.env}',
    num_steps=settings.num_steps,
    has_actors=settings.program != 'offline',
  )
  with live.show(run_dir, goal, printer):
    yield printer
