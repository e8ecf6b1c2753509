"""The figures of a report, each of which shows one metric of all runs."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import markupsafe

from reporting import run_groups, series, svg

# A group and its place among all groups of the page, which is its style.
Styled = tuple[int, run_groups.Group]


class Unit(NamedTuple):
  """The unit in which a page gives times.

  Attributes:
    seconds: how many seconds one unit is.
    name: of the unit, in the plural.
  """

  seconds: float
  name: str


class Figure(NamedTuple):
  """One figure.

  Attributes:
    name: what it shows.
    axes: what that is drawn against, and what else there is to know.
    drawing: an `<svg>` element.
  """

  name: str
  axes: str
  drawing: markupsafe.Markup


_UNITS = (Unit(3600.0, 'hours'), Unit(60.0, 'minutes'), Unit(1.0, 'seconds'))


def unit_of_time(runs: Sequence[run_groups.Run]) -> Unit:
  """Returns the largest unit of which the longest run has 3 or more."""
  longest = max(run.wall_time for run in runs)
  large = (unit for unit in _UNITS if longest >= 3 * unit.seconds)
  return next(large, _UNITS[-1])


def draw(groups: Sequence[run_groups.Group]) -> Iterator[Figure]:
  """Yields the figures of all groups, in the order of the page."""
  runs = list(itertools.chain.from_iterable(group.runs for group in groups))
  styled = list(enumerate(groups))
  unit = unit_of_time(runs)
  yield from _returns(styled, runs, unit)
  wall_time = _Axis(f'wall time, {unit.name}', unit.seconds)
  for name, values, may_be_log in (
    ('Actor steps a second', series.actor_rate, False),
    # A step of one agent's learner may be a thousand times another's work.
    ('Learner steps a second', series.learner_rate, True),
    ('Weight lag of actors, in versions', series.lag, False),
  ):
    yield _figure(styled, name, wall_time, values, True, may_be_log)
  for loss in series.loss_names(runs):
    values = functools.partial(series.loss, name=loss)
    name = loss.removeprefix('learner/')
    yield _figure(styled, name, _Axis('learner steps'), values, may_be_log=True)


class _Axis(NamedTuple):
  """The x axis of a figure: its name, and its unit as a factor."""

  name: str
  unit: float = 1.0


def _returns(
  styled: Sequence[Styled], runs: Sequence[run_groups.Run], unit: Unit
) -> Iterator[Figure]:
  """Yields figures for each environment, whose returns have its own scale."""
  environments = dict.fromkeys(run.setting('env') for run in runs)
  for env in environments:
    some = [one for one in styled if one[1].runs[0].setting('env') == env]
    name = f'Return in {env}' if len(environments) > 1 else 'Return'
    steps = _steps_axis([run for _, group in some for run in group.runs])
    yield _figure(some, name, _Axis(steps), series.returns_by_steps)
    wall_time = _Axis(f'wall time, {unit.name}', unit.seconds)
    yield _figure(some, name, wall_time, series.returns_by_time)


def _steps_axis(runs: Sequence[run_groups.Run]) -> str:
  with_actors = sum(run.setting('program') != 'offline' for run in runs)
  if with_actors == len(runs):
    return 'actor steps'
  if not with_actors:
    return 'learner steps'
  return 'actor steps; of runs without actors, learner steps'


def _figure(
  styled: Sequence[Styled],
  name: str,
  x_axis: _Axis,
  values: Callable[[run_groups.Run], series.Series],
  from_zero: bool = False,
  may_be_log: bool = False,
) -> Figure:
  """Draws one figure, of which `values` are a run's."""
  lines, left_out = [], 0
  for style, group in styled:
    combined = series.combine([values(run) for run in group.runs])
    if combined is None:
      continue
    left_out += combined.left_out
    scaled = dataclasses.replace(combined, x=combined.x / x_axis.unit)
    lines.append(svg.Line(group.label, style, scaled))
  is_log = may_be_log and svg.asks_for_log(lines)
  axes = f'against {x_axis.name}' + (', on a log scale' if is_log else '')
  if left_out:
    noun = 'value' if left_out == 1 else 'values'
    axes += f'; {left_out:,} {noun} not finite'
  drawing = svg.figure(f'{name} {axes}', lines, from_zero, is_log)
  return Figure(name, axes, drawing)
