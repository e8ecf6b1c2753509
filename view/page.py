"""Turns a frame into lines for `rich`, as many as the terminal has room for.

Columns have fixed widths. A table of `rich` would move whenever a number grows,
since it fits its columns to their content.
"""

import collections
import math
from collections.abc import Iterator, Sequence

from rich import text

from reverb_wire import table_info
from run_files import screen, status
from view import frame as frame_lib
from view import sparkline

Text = text.Text

# Wider lines are harder to read.
_MAX_WIDTH = 110
_MAX_NAMED = 3
_LABEL = 14
# Each column's name, whether it is aligned to the right, and its width.
_COLUMNS = (
  ('state', False, 9),
  ('steps/s', True, 8),
  ('return', True, 10),
  ('weights', True, 10),
  ('lag', True, 4),
  ('restarts', True, 8),
)
_NAME = 17
_FAULTS = (
  *(status.TaskState.BACKOFF, status.TaskState.FAILED),
  status.TaskState.KILLED,
)
# The styles of a run's phases and of a task's states, which have equal texts.
_STYLES = {
  status.TaskState.RUNNING: 'green',
  status.TaskState.STARTING: 'yellow',
  status.TaskState.STOPPING: 'yellow',
  **dict.fromkeys(_FAULTS, 'bold red'),
}


def render(frame: frame_lib.Frame, width: int, height: int) -> list[Text]:
  """Returns the lines of the view.

  Args:
    frame: what to show.
    width: the largest number of columns of a line.
    height: the largest number of lines. If the tasks do not fit, the tasks of a
      role share one line, and a few that have failed or were restarted follow.
  """
  width = min(width, _MAX_WIDTH)
  head = [_title(frame, width), _progress(frame, width), Text()]
  foot = [
    Text(),
    *(_table(table, len(frame.tables) == 1) for table in frame.tables),
    _learner_time(frame.learner_time),
    _returns(frame, width),
  ]
  room = height - len(head) - len(foot)
  tasks = list(_tasks(frame, room))[: max(room, 0)]
  lines = [*head, *tasks, *foot][:height]
  for line in lines:
    line.rstrip()
    line.truncate(width, overflow='ellipsis')
    line.no_wrap = True
  return lines


def _title(frame: frame_lib.Frame, width: int) -> Text:
  phase = f'{frame.phase} {screen.duration(frame.elapsed):>8}'
  if frame.exit_code is not None:
    phase = f'{frame.phase} with exit code {frame.exit_code}'
    phase += f' after {screen.duration(frame.elapsed)}'
  title = Text(frame.goal.title, 'bold')
  title.truncate(width - len(phase) - 2, overflow='ellipsis', pad=True)
  style = 'bold red' if frame.exit_code else _STYLES.get(frame.phase, '')
  return Text().append(title).append('  ').append(phase, style)


def _progress(frame: frame_lib.Frame, width: int) -> Text:
  total = f'{frame.goal.num_steps:,}'
  done = min(frame.steps / frame.goal.num_steps, 1.0)
  rate = '-' if frame.rate is None else f'{frame.rate:,.0f}'
  left = ''
  if frame.phase == status.RunState.RUNNING and frame.seconds_left is not None:
    left = f'{screen.duration(math.ceil(frame.seconds_left))} left'
  steps = f'{frame.steps:>{len(total)},} of {total}'
  numbers = f'  {steps}  {done:4.0%}  {rate:>6}/s{left:>13}'
  line = _label('actor steps' if frame.goal.has_actors else 'learner steps')
  return line + _bar(done, width - len(line) - len(numbers)).append(numbers)


def _bar(part: float, width: int) -> Text:
  width = max(width, 0)
  # The two parts differ in shape too, for terminals without colours.
  full = math.floor(part * width)
  bar = Text().append('━' * full, 'green')
  return bar.append('─' * (width - full), 'dim')


def _tasks(frame: frame_lib.Frame, room: int) -> Iterator[Text]:
  if not frame.tasks:
    yield Text('The program is being made, and its tasks start next.', 'dim')
    return
  by_label = collections.defaultdict(list)
  for task in frame.tasks:
    by_label[task.label].append(task)
  names = [name for name, _, _ in _COLUMNS]
  yield _row('task', names, 'dim', 'dim')
  # One line more has the names of the columns.
  fit = len(frame.tasks) + 1 <= room
  for tasks in by_label.values():
    if fit or len(tasks) == 1:
      yield from map(_task, tasks)
    else:
      yield from _many(tasks)


def _task(task: frame_lib.Task) -> Text:
  cells = [
    task.state,
    _number(task.steps_per_second),
    _number(task.episode_return, 1),
    '' if task.version is None else f'v{task.version:.0f}',
    _number(task.lag),
    str(task.restarts),
  ]
  return _row(task.name, cells, _STYLES.get(task.state, 'dim'))


def _many(tasks: Sequence[frame_lib.Task]) -> Iterator[Text]:
  """Yields a line for a role, and lines for tasks that failed or restarted."""
  states = [task.state for task in tasks]
  is_same = len({*states}) == 1
  running = states.count(status.TaskState.RUNNING)
  versions = _known(task.version for task in tasks)
  returns = _known(task.episode_return for task in tasks)
  rates = _known(task.steps_per_second for task in tasks)
  lags = _known(task.lag for task in tasks)
  cells = [
    states[0] if is_same else f'{running} of {len(tasks)}',
    _number(sum(rates) if rates else None),
    _number(sum(returns) / len(returns) if returns else None, 1),
    _versions(versions),
    _number(max(lags, default=None)),
    str(sum(task.restarts for task in tasks)),
  ]
  style = _STYLES.get(states[0], 'dim') if is_same else 'yellow'
  yield _row(f'{tasks[0].label} x {len(tasks)}', cells, style)
  bad = [t for t in tasks if t.state in _FAULTS or t.restarts]
  bad.sort(key=lambda t: (t.state not in _FAULTS, -t.restarts))
  yield from map(_task, bad[:_MAX_NAMED])
  if len(bad) > _MAX_NAMED:
    yield Text(f'and {len(bad) - _MAX_NAMED} more were restarted', 'dim')


def _versions(versions: Sequence[float]) -> str:
  if not versions:
    return ''
  low, high = f'v{min(versions):.0f}', f'{max(versions):.0f}'
  if low == f'v{high}':
    return low
  both = f'{low}-{high}'
  return both if len(both) <= 10 else f'{low}+'


def _row(
  name: str, cells: Sequence[str], state_style: str, style: str = ''
) -> Text:
  line = Text(style=style)
  fitting = Text(name)
  fitting.truncate(_NAME, overflow='ellipsis', pad=True)
  line.append(fitting)
  for (column, right, width), cell in zip(_COLUMNS, cells, strict=True):
    cell = f'{cell:>{width}}' if right else f'{cell:<{width}}'
    line.append('  ').append(cell, state_style if column == 'state' else None)
  return line


def _table(table: table_info.TableInfo, is_only: bool) -> Text:
  line = _label('replay' if is_only else table.name)
  line += _bar(table.size / max(table.max_size, 1), 10)
  total = f'{table.max_size:,}'
  line.append(f'  {table.size:>{len(total)},} of {total} items')
  if table.inserts:
    line.append(f'  {table.samples / table.inserts:6,.1f} samples/insert')
  return line


def _learner_time(time: frame_lib.LearnerTime | None) -> Text:
  line = _label('learner time')
  if time is None:
    return line.append('-')
  step = max(1 - time.sampling - time.publishing, 0.0)
  return line.append(
    f'{step:4.0%} step   {time.sampling:4.0%} waiting for samples   '
    f'{time.publishing:4.0%} publishing'
  )


def _returns(frame: frame_lib.Frame, width: int) -> Text:
  line = _label('return' if frame.evaluated else 'actor return')
  if not frame.returns:
    return line.append('-')
  finite = filter(math.isfinite, frame.returns)
  best = _number(max(finite, default=None), 1) or '-'
  last = _number(frame.returns[-1], 1)
  line.append(f'last {last:>10}  best {best:>10}  ')
  drawn = sparkline.sparkline(frame.returns, width - len(line))
  return line.append(drawn, 'cyan')


def _label(name: str) -> Text:
  label = Text(name, 'bold')
  label.truncate(_LABEL - 1, overflow='ellipsis')
  label.pad_right(_LABEL - label.cell_len)
  # In a new text, so that what is appended later is not bold.
  return Text().append(label)


def _number(value: float | None, digits: int = 0) -> str:
  if value is None:
    return ''
  text = f'{value:,.{digits}f}'
  return text if len(text) <= 10 else f'{value:.3g}'


def _known(values) -> list[float]:
  return [value for value in values if value is not None]
