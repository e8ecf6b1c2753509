"""A page that compares runs: their figures, what came of them, and settings."""

import dataclasses
import datetime
import functools
import itertools
import pathlib
from collections.abc import Callable, Iterator, Sequence

from reporting import page, run_groups, series, summary, svg
from run_files import damage, metric_names, metrics, status

_UNITS = ((3600.0, 'hours'), (60.0, 'minutes'), (1.0, 'seconds'))
_NOTHING = '\N{EN DASH}'


def write(
  run_dirs: Sequence[str | pathlib.Path], path: str | pathlib.Path | None = None
) -> pathlib.Path:
  """Writes the report of one run or more.

  Args:
    run_dirs: of the runs, which may go on, have ended or been killed. One that
      is named twice counts once.
    path: of the page; None is `report.html` in the first run directory.

  Returns:
    The path of the page.

  Raises:
    DamagedError: a configuration or a file of metrics is damaged.
    OSError: a directory holds no run, or the page cannot be written.
  """
  every = list(
    {run.path: run for run in map(run_groups.load, run_dirs)}.values()
  )
  path = pathlib.Path(path or every[0].path / 'report.html')
  # References, since the name of a file need not be text that can be encoded.
  path.write_text(_page(every), 'utf-8', errors='xmlcharrefreplace')
  return path


def _page(every: Sequence[run_groups.Run]) -> str:
  groups = run_groups.group(every)
  title = _title(every)
  body = [page.element('h1', title), page.element('p', _notes(groups))]
  if len(groups) > 1:
    body.append(_legend(groups))
  body += [
    page.element('div', *_figures(groups), kind='figures'),
    page.element('h2', 'What came of them'),
    _summary(groups, every),
    *_settings(groups, every),
  ]
  return page.document(title, body)


def _title(every: Sequence[run_groups.Run]) -> str:
  title = _count(len(every), 'run')
  differing = run_groups.differences(every)
  for word, name in (('of', 'agent'), ('on', 'env')):
    if name not in differing:
      title += f' {word} {every[0].setting(name)}'
  return title


def _notes(groups: Sequence[run_groups.Group]) -> str:
  notes = f'Returns are means of the last {series.WINDOW} evaluations.'
  if any(len(group.runs) > 1 for group in groups):
    notes += (
      ' Where runs differ in their seed alone, the line is their mean and the '
      'band goes from the lowest to the highest of them.'
    )
  now = datetime.datetime.now().strftime('%Y-%m-%d %H:%M')
  return notes + (
    " Wall time begins with a run's first metrics; a rest of more than "
    f'{run_groups.REST_SECONDS / 60:.0f} minutes before a resume does not '
    f'count. Written at {now}.'
  )


def _legend(groups: Sequence[run_groups.Group]) -> page.Markup:
  items = [
    page.element('li', svg.swatch(i), group.label)
    for i, group in enumerate(groups)
  ]
  return page.element('ul', *items, kind='legend')


def _figures(groups: Sequence[run_groups.Group]) -> Iterator[page.Markup]:
  every = list(itertools.chain.from_iterable(group.runs for group in groups))
  size, unit = _unit(every)
  wall_time = f'wall time, {unit}'
  lines = list(enumerate(groups))
  # Returns of different environments have nothing to do with each other.
  environments = dict.fromkeys(run.setting('env') for run in every)
  for env in environments:
    some = [line for line in lines if line[1].runs[0].setting('env') == env]
    name = f'Return in {env}' if len(environments) > 1 else 'Return'
    steps = _steps_axis([run for _, group in some for run in group.runs])
    yield _figure(some, name, steps, series.returns_by_steps)
    yield _figure(some, name, wall_time, series.returns_by_time, size)
  for name, values, may_be_log in (
    ('Actor steps a second', series.actor_rate, False),
    # A step of one agent's learner may be a thousand times another's work.
    ('Learner steps a second', series.learner_rate, True),
    ('Weight lag of actors, in versions', series.lag, False),
  ):
    yield _figure(lines, name, wall_time, values, size, True, may_be_log)
  for loss in series.loss_names(every):
    values = functools.partial(series.loss, name=loss)
    name = loss.removeprefix('learner/')
    yield _figure(lines, name, 'learner steps', values, may_be_log=True)


def _unit(every: Sequence[run_groups.Run]) -> tuple[float, str]:
  """Returns the seconds of the page's unit of time, and its name."""
  longest = max(run.wall_time for run in every)
  long = (pair for pair in _UNITS if longest >= 3 * pair[0])
  return next(long, _UNITS[-1])


def _steps_axis(every: Sequence[run_groups.Run]) -> str:
  with_actors = sum(run.setting('program') != 'offline' for run in every)
  if with_actors == len(every):
    return 'actor steps'
  if not with_actors:
    return 'learner steps'
  return 'actor steps; of runs without actors, learner steps'


def _figure(
  groups: Sequence[tuple[int, run_groups.Group]],
  name: str,
  x_axis: str,
  values: Callable[[run_groups.Run], series.Series],
  size: float = 1.0,
  from_zero: bool = False,
  may_be_log: bool = False,
) -> page.Markup:
  """One figure of groups by their styles; `size` is a unit of the x axis."""
  lines, left_out = [], 0
  for style, group in groups:
    combined = series.combine([values(run) for run in group.runs])
    if combined is None:
      continue
    left_out += combined.left_out
    scaled = dataclasses.replace(combined, x=combined.x / size)
    lines.append(svg.Line(group.label, style, scaled))
  is_log = may_be_log and svg.asks_for_log(lines)
  axes = f'against {x_axis}' + (', on a log scale' if is_log else '')
  if left_out:
    axes += f'; {_count(left_out, "value")} not finite'
  drawing = svg.figure(f'{name} {axes}', lines, from_zero, is_log)
  return page.figure(name, axes, drawing)


def _summary(
  groups: Sequence[run_groups.Group], every: Sequence[run_groups.Run]
) -> page.Markup:
  """The table of what came of each run, and of a group's seeds together."""
  size, unit = _unit(every)
  rows, parts = [], []
  for style, group in enumerate(groups):
    name = page.join(svg.swatch(style), group.label)
    if len(group.runs) == 1:
      (run,) = group.runs
      small = page.element('small', f'seed {run.seed}, {run.path}')
      rows.append([page.join(name, small), *_outcome(run, size)])
      continue
    rows.append([name, _final_of(group), '', '', '', ''])
    for run in group.runs:
      parts.append(len(rows))
      name = page.join(f'seed {run.seed}', page.element('small', str(run.path)))
      rows.append([name, *_outcome(run, size)])
  head = ('', 'final return', 'actor steps', 'learner steps')
  head = (*head, f'wall time, {unit}', 'state')
  return page.table(head, rows, range(1, 5), parts)


def _outcome(run: run_groups.Run, size: float) -> tuple[str, ...]:
  return (
    _number(_final(run), '{:,.1f}'),
    _number(
      max(metrics.column(run.actors, metric_names.ACTOR_STEPS), default=None)
    ),
    _number(
      max(metrics.column(run.learner, metric_names.LEARNER_STEPS), default=None)
    ),
    f'{run.wall_time / size:,.1f}',
    _state(run),
  )


def _final_of(group: run_groups.Group) -> page.Markup:
  """The mean over seeds, and how far they are apart."""
  finals = [final for run in group.runs if (final := _final(run)) is not None]
  if not finals:
    return page.join(_NOTHING)
  mean, low, high = (
    _number(value, '{:,.1f}')
    for value in (sum(finals) / len(finals), min(finals), max(finals))
  )
  return page.join(mean, page.element('small', f'{low} to {high}'))


def _final(run: run_groups.Run) -> float | None:
  """Returns the mean of a run's last evaluations; None if it has none."""
  evaluated = metrics.column(run.evaluators, metric_names.EVALUATION_RETURN)
  return summary.final_return(run.path) if evaluated else None


def _state(run: run_groups.Run) -> str:
  """Says whether a run goes on, as far as this machine knows."""
  try:
    found = status.read(str(run.path / 'logs'))
  except (OSError, damage.DamagedError):
    return 'unknown'
  if found.alive:
    return 'running'
  if found.launcher.state != status.RunState.ENDED:
    return 'killed'
  code = found.launcher.exit_code
  return f'ended with exit code {code}' if code else 'ended'


def _settings(
  groups: Sequence[run_groups.Group], every: Sequence[run_groups.Run]
) -> Iterator[page.Markup]:
  differing = run_groups.differences(every)
  yield page.element('h2', 'Settings')
  if differing:
    rows = [
      [
        page.join(svg.swatch(style), group.label),
        *(group.runs[0].setting(name) for name in differing),
      ]
      for style, group in enumerate(groups)
    ]
    head = [name.removeprefix('config.') for name in differing]
    yield page.table(['', *head], rows)
  same = ', '.join(
    f'{name.removeprefix("config.")} {every[0].setting(name)}'
    for name in run_groups.agreements(every)
  )
  yield page.element('p', f'The same in all: {same or "nothing"}.')


def _number(value: float | None, template: str = '{:,.0f}') -> str:
  if value is None:
    return _NOTHING
  return template.format(value).replace('-', '\N{MINUS SIGN}')


def _count(number: int, noun: str) -> str:
  return f'{number:,} {noun}' + ('s' if number > 1 else '')
