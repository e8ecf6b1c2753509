"""The batch script of a run's Slurm job, and the plan beside it.

Tasks with equal resources and options form one component of the job. A role on
GPUs and roles on CPUs make a heterogeneous job, whose components Slurm places
independently.
"""

import dataclasses
import json
import os
import pathlib
import re
import shlex
from collections.abc import Mapping, Sequence

from backends import resources as resources_lib

# The environment variable of a job's launcher with the path of the plan's file.
PLAN = 'LAUNCHPAD_SLURM_PLAN'
# The signal by which Slurm warns of a job's time limit, and how many seconds
# before the limit it comes.
_WARNING, _WARNING_SECS = 'USR1', 60
_OURS = {
  'ntasks': 'the number of tasks follows from the program',
  'cpus-per-task': 'use --resources=ROLE:cpu=N instead',
  'gpus-per-task': 'use --resources=ROLE:gpu=N instead',
  'output': 'the output goes to the run directory',
}
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9-]*')
_CONTROL = re.compile(r'[\x00-\x1f\x7f]')
# Text that needs no quotes in a job's script.
_PLAIN = re.compile(r'[\w@%+=:,./~\[\]-]+')


@dataclasses.dataclass(frozen=True)
class Component:
  """A part of a job: tasks with equal resources and options.

  Attributes:
    tasks: the tasks' names, `label/index`.
    resources: the resources of each task.
    options: sbatch's options by name, except those that `render` adds.
  """

  tasks: tuple[str, ...]
  resources: resources_lib.Resources
  options: Mapping[str, str]


def in_job() -> bool:
  """Returns whether this process is the launcher in a job."""
  return PLAN in os.environ


def parse_options(text: str) -> dict[str | None, dict[str, str]]:
  """Returns sbatch's options by role; options of all roles are under None.

  Args:
    text: such as `account=rl,time=1:00:00;learner:partition=gpu`.

  Raises:
    ValueError: the text is malformed, or sets an option that follows from the
      program or from `--resources`.
  """
  options = resources_lib.split(text)
  for items in options.values():
    for name, value in items.items():
      if not _NAME.fullmatch(name):
        raise ValueError(
          f"{name!r} is no name of an option; write sbatch's long name without "
          'dashes, as in partition=gpu'
        )
      # sbatch also accepts the beginning of a name.
      for ours in _OURS:
        if ours.startswith(name) and name != 'gpus':
          raise ValueError(f'{name} cannot be set here: {_OURS[ours]}')
      _check(name, value)
  return options


def components(
  groups: Mapping[str, int],
  resources: Mapping[str, resources_lib.Resources],
  options: Mapping[str | None, Mapping[str, str]],
) -> list[Component]:
  """Returns a job's components, those with accelerators first.

  Args:
    groups: the number of tasks by the program's labels.
    resources: the resources of each task by label; a label that is missing has
      `Resources()`, the least.
    options: sbatch's options by label; options of all labels are under None.

  Raises:
    ValueError: the program does not have a label that `resources` or `options`
      name.
  """
  resources_lib.check_roles(resources, groups)
  resources_lib.check_roles(options, groups)
  alike: dict[tuple, list[str]] = {}
  for label, count in groups.items():
    own = {**options.get(None, {}), **options.get(label, {})}
    of_task = resources.get(label, resources_lib.Resources())
    tasks = alike.setdefault((of_task, tuple(sorted(own.items()))), [])
    tasks += [f'{label}/{index}' for index in range(count)]
  result = [
    Component(tuple(tasks), of_task, dict(own))
    for (of_task, own), tasks in alike.items()
  ]
  # The script itself runs on the first node of the first component.
  return sorted(
    result, key=lambda each: (-each.resources.gpu, -each.resources.cpu)
  )


def render(
  name: str,
  parts: Sequence[Component],
  command: Sequence[str],
  plan_path: pathlib.Path,
  log_dir: pathlib.Path,
) -> str:
  """Returns the script's text.

  Args:
    name: the job's name.
    parts: the job's components.
    command: the launcher's command, which the job's first node runs.
    plan_path: the path of the file that `save_plan` writes.
    log_dir: the run's log folder. The job's output goes there.

  Raises:
    ValueError: Slurm cannot write the job's output to a folder of this name.
  """
  _check('the directory', str(log_dir))
  if '\\' in str(log_dir):
    raise ValueError(
      f'the directory has a backslash: {str(log_dir)!r}; Slurm would then not '
      "put the job's number into the name of its output"
    )
  # sbatch reads the whole job's options from the first component.
  job = {
    'job-name': name,
    'output': str(log_dir).replace('%', '%%') + '/slurm-%j.out',
    'open-mode': 'append',
    'requeue': '',
    'signal': f'B:{_WARNING}@{_WARNING_SECS}',
  }
  lines = ['#!/bin/bash']
  for part in parts:
    if part is not parts[0]:
      lines.append('#SBATCH hetjob')
    lines.append(f'# {summary(part.tasks)}')
    lines += _directives({**job, **_needs(part), **part.options})
    job = {'requeue': ''}
  return '\n'.join(
    [
      *lines,
      '',
      f'export {PLAN}={shlex.quote(str(plan_path))}',
      f'exec {shlex.join(command)}',
      '',
    ]
  )


def save_plan(path: pathlib.Path, parts: Sequence[Component]) -> None:
  """Writes the components, for the launcher in the job to read.

  Args:
    path: the file's path.
    parts: the job's components.
  """
  path.write_text(json.dumps([dataclasses.asdict(p) for p in parts], indent=1))


def load_plan(path: str | pathlib.Path) -> list[Component]:
  """Returns the components that `save_plan` wrote."""
  return [
    Component(
      tuple(part['tasks']),
      resources_lib.Resources(**part['resources']),
      part['options'],
    )
    for part in json.loads(pathlib.Path(path).read_text())
  ]


def planned_resources() -> dict[str, resources_lib.Resources]:
  """Returns the resources by label in the plan of this process's job."""
  return {
    task.rpartition('/')[0]: part.resources
    for part in load_plan(os.environ[PLAN])
    for task in part.tasks
  }


def summary(tasks: Sequence[str]) -> str:
  """Returns tasks' names in short, such as `learner/0, actor/0-3`."""
  spans: dict[str, list[str]] = {}
  for task in tasks:
    label, _, index = task.rpartition('/')
    spans.setdefault(label, []).append(index)
  return ', '.join(
    f'{label}/{indices[0]}' + (f'-{indices[-1]}' if len(indices) > 1 else '')
    for label, indices in spans.items()
  )


def _needs(part: Component) -> dict[str, str]:
  needs = {
    'ntasks': str(len(part.tasks)),
    'cpus-per-task': str(part.resources.cpu),
  }
  if part.resources.gpu:
    needs['gpus-per-task'] = str(part.resources.gpu)
  return needs


def _directives(options: Mapping[str, str]) -> list[str]:
  return [
    f'#SBATCH --{name}={_quote(value)}' if value else f'#SBATCH --{name}'
    for name, value in options.items()
  ]


def _quote(value: str) -> str:
  if _PLAIN.fullmatch(value):
    return value
  # A backslash protects the next character, even between quotes.
  return '"' + re.sub(r'(["\\])', r'\\\1', value) + '"'


def _check(name: str, value: str) -> None:
  """Raises `ValueError` if a value would not stay on its line of the script."""
  if _CONTROL.search(value):
    raise ValueError(
      f'{name} has a line break, a tab or another control character, and a '
      f'job script cannot hold these: {value!r}'
    )
