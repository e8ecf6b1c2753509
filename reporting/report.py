"""A page that compares runs: their figures, what came of them, and settings."""

import datetime
import pathlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import markupsafe

from reporting import figures, page, run_groups, series, summary, svg
from run_files import damage, metric_names, metrics, status


def write(
  run_dirs: Sequence[str | pathlib.Path], path: str | pathlib.Path | None = None
) -> pathlib.Path:
  """Writes the report of one run or more.

  Args:
    run_dirs: the run directories. Their runs may go on, have ended or been
      killed. A directory that is named twice counts once.
    path: of the page; None is `report.html` in the first run directory.

  Returns:
    The path of the page.

  Raises:
    DamagedError: a configuration or a file of metrics is damaged.
    OSError: a directory holds no run, or the page cannot be written.
  """
  by_path = {run.path: run for run in map(run_groups.load, run_dirs)}
  runs = list(by_path.values())
  path = pathlib.Path(path or runs[0].path / 'report.html')
  # References, since the name of a file need not be text that can be encoded.
  path.write_text(_page(runs), 'utf-8', errors='xmlcharrefreplace')
  return path


class Outcome(NamedTuple):
  """The results of one run.

  Attributes:
    seed: of the run.
    path: of the run directory.
    final_return: the mean of its last evaluations; None without any.
    actor_steps: of all actors together; None if no actor wrote a row.
    learner_steps: of the learner; None if it wrote no row.
    wall_time: in seconds.
    state: whether the run goes on, as far as this machine knows.
  """

  seed: str
  path: pathlib.Path
  final_return: float | None
  actor_steps: float | None
  learner_steps: float | None
  wall_time: float
  state: str


class Entry(NamedTuple):
  """A group of runs that differ in their seed alone, as the page shows it.

  Attributes:
    label: the settings in which it differs from the other groups.
    swatch: a piece of its line in the figures.
    outcomes: of each of its runs.
    settings: maps the name of each setting to its value.
    mean_return: the mean of its runs' final returns; None without any.
    lowest_return: the lowest of them.
    highest_return: the highest of them.
  """

  label: str
  swatch: markupsafe.Markup
  outcomes: Sequence[Outcome]
  settings: Mapping[str, str]
  mean_return: float | None
  lowest_return: float | None
  highest_return: float | None


def _page(runs: Sequence[run_groups.Run]) -> str:
  groups = run_groups.group(runs)
  differing = run_groups.differences(runs)
  return page.render(
    title=_title(runs, differing),
    window=series.WINDOW,
    has_bands=len(runs) > len(groups),
    rest_minutes=round(run_groups.REST_SECONDS / 60),
    now=datetime.datetime.now().strftime('%Y-%m-%d %H:%M'),
    figures=list(figures.draw(groups)),
    unit=figures.unit_of_time(runs),
    entries=[
      _entry(group, style, differing) for style, group in enumerate(groups)
    ],
    differing=differing,
    agreeing={
      name: runs[0].setting(name) for name in run_groups.agreements(runs)
    },
  )


def _title(runs: Sequence[run_groups.Run], differing: Sequence[str]) -> str:
  title = f'{len(runs):,} {"run" if len(runs) == 1 else "runs"}'
  for word, name in (('of', 'agent'), ('on', 'env')):
    if name not in differing:
      title += f' {word} {runs[0].setting(name)}'
  return title


def _entry(
  group: run_groups.Group, style: int, differing: Sequence[str]
) -> Entry:
  outcomes = [_outcome(run) for run in group.runs]
  finals = [o.final_return for o in outcomes if o.final_return is not None]
  return Entry(
    label=group.label,
    swatch=svg.swatch(style),
    outcomes=outcomes,
    settings={name: group.runs[0].setting(name) for name in differing},
    mean_return=sum(finals) / len(finals) if finals else None,
    lowest_return=min(finals, default=None),
    highest_return=max(finals, default=None),
  )


def _outcome(run: run_groups.Run) -> Outcome:
  actor_steps = metrics.column(run.actors, metric_names.ACTOR_STEPS)
  learner_steps = metrics.column(run.learner, metric_names.LEARNER_STEPS)
  returns = metrics.column(run.evaluators, metric_names.EVALUATION_RETURN)
  return Outcome(
    seed=run.seed,
    path=run.path,
    final_return=summary.final_return(run.path) if returns else None,
    actor_steps=max(actor_steps, default=None),
    learner_steps=max(learner_steps, default=None),
    wall_time=run.wall_time,
    state=_state(run.path),
  )


def _state(run_dir: pathlib.Path) -> str:
  try:
    found = status.read(str(run_dir / 'logs'))
  except (OSError, damage.DamagedError):
    return 'unknown'
  if found.alive:
    return 'running'
  if found.launcher.state != status.RunState.ENDED:
    return 'killed'
  code = found.launcher.exit_code
  return f'ended with exit code {code}' if code else 'ended'
