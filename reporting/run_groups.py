"""Runs, read from their directories, and groups that differ in seed alone."""

import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from run_files import assignments, metric_names, metrics
from run_files import run_dir as run_dir_lib

# If no process wrote a row for longer than this, the run had ended, and was
# resumed later.
REST_SECONDS = 300.0
_UNSET = 'default'
# Settings whose values are clear without their names.
_BARE = ('agent', 'env')


@dataclasses.dataclass(frozen=True)
class Run:
  """One run, whose metrics are read when they are first asked for.

  Attributes:
    path: of the run directory.
    seed: as text.
    settings: values as text, by the names of flags; an agent's own settings by
      `config.<name>`. The seed is not among them.
  """

  path: pathlib.Path
  seed: str
  settings: Mapping[str, str]

  @functools.cached_property
  def actors(self) -> list[metrics.Row]:
    """All actors' rows, in the order of writing."""
    return metrics.by_time(metrics.read(self.path, 'actor'))

  @functools.cached_property
  def learner(self) -> list[metrics.Row]:
    """The learner's rows, in the order of writing."""
    return metrics.by_time(metrics.read(self.path, 'learner'))

  @functools.cached_property
  def evaluators(self) -> list[metrics.Row]:
    """All evaluators' rows, in the order of writing."""
    return metrics.by_time(metrics.read(self.path, 'evaluator'))

  @property
  def wall_time(self) -> float:
    """Seconds from the first row of metrics to the last.

    The time between a run's end and its resumption does not count.
    """
    return float(self._clock[1][-1])

  def elapsed(self, times: Sequence[float] | np.ndarray) -> np.ndarray:
    """Returns the run's wall time at Unix times, in seconds."""
    return np.interp(times, *self._clock)

  def setting(self, name: str) -> str:
    """Returns the value of a setting as text; `default` if it has none."""
    return self.settings.get(name) or _UNSET

  @functools.cached_property
  def _clock(self) -> tuple[np.ndarray, np.ndarray]:
    rows = [*self.actors, *self.learner, *self.evaluators]
    times = np.unique(metrics.column(rows, metric_names.TIME))
    if not len(times):
      return np.zeros(1), np.zeros(1)
    gaps = np.diff(times, prepend=times[0])
    return times, np.cumsum(np.where(gaps > REST_SECONDS, 0.0, gaps))


@dataclasses.dataclass(frozen=True)
class Group:
  """Runs that differ in their seed alone.

  Attributes:
    label: the settings that tell this group from the others.
    runs: one at least.
  """

  label: str
  runs: Sequence[Run]


def load(run_dir: str | pathlib.Path) -> Run:
  """Returns the run in a directory.

  Raises:
    DamagedError: the run's configuration is damaged.
    OSError: the directory holds no run, or cannot be read.
  """
  path = pathlib.Path(run_dir).resolve()
  config = run_dir_lib.read_config(path)
  settings = {name: _text(value) for name, value in config.items()}
  for name, _, value in assignments.split(settings.pop('config', '')):
    settings[f'config.{name}'] = _text(value)
  settings.pop('run_dir', None)
  return Run(path, settings.pop('seed', ''), settings)


def group(runs: Sequence[Run]) -> list[Group]:
  """Puts together the runs that differ in their seed alone."""
  groups = {}
  for run in runs:
    groups.setdefault(frozenset(run.settings.items()), []).append(run)
  telling = _telling([some[0] for some in groups.values()])
  return [Group(_label(some[0], telling), some) for some in groups.values()]


def differences(runs: Sequence[Run]) -> list[str]:
  """Returns the names of the settings that are not the same in all runs."""
  return [name for name in _all_settings(runs) if _num_values(runs, name) > 1]


def agreements(runs: Sequence[Run]) -> list[str]:
  """Returns the names of the settings that are the same in all runs."""
  return [name for name in _all_settings(runs) if _num_values(runs, name) == 1]


def _all_settings(runs: Sequence[Run]) -> list[str]:
  every = itertools.chain.from_iterable(run.settings for run in runs)
  return list(dict.fromkeys(every))


def _num_values(runs: Sequence[Run], name: str) -> int:
  return len({run.setting(name) for run in runs})


def _telling(runs: Sequence[Run]) -> list[str]:
  """Returns settings that suffice to tell runs apart, as few as it finds."""
  telling, num_kinds = [], 1
  for name in sorted(differences(runs), key=lambda name: name not in _BARE):
    kinds = {tuple(map(run.setting, [*telling, name])) for run in runs}
    if len(kinds) > num_kinds:
      telling.append(name)
      num_kinds = len(kinds)
  return telling


def _label(run: Run, telling: Sequence[str]) -> str:
  if not telling:
    return f'{run.setting("agent")} on {run.setting("env")}'
  parts = {
    name: run.setting(name)
    if name in _BARE
    else f'{name.removeprefix("config.")}={run.setting(name)}'
    for name in telling
  }
  said = [parts[name] for name in telling if run.setting(name) != _UNSET]
  return ', '.join(said or parts.values())


def _text(value: Any) -> str:
  """Returns the same text for a value however it is spelled: 3e-4 or 0.0003."""
  if value is None or isinstance(value, bool):
    return '' if value is None else str(value).lower()
  for kind in (int, float):
    try:
      return str(kind(str(value)))
    except ValueError:
      continue
  return str(value)
