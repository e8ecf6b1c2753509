"""A run at one moment, as a page of text.

It does not use `rich`, which fits text to the width of a terminal: this text
may also go to a pipe or a file.
"""

import pathlib
from collections.abc import Iterator, Sequence

from run_files import metric_names, metrics, screen, status
from watchdog import reasons, stuck
from watchdog import snapshot as snapshot_lib

_COLUMNS = (
  *('task', 'state', 'pid', 'uptime', 'restarts', 'address', 'steps/s'),
  'weights',
)
# The default of `--stuck_after`.
_STUCK_AFTER = 60.0
# If the launcher was killed, the status file still has these states, but the
# tasks have died with the launcher.
_GONE = (
  *(status.TaskState.RUNNING, status.TaskState.STARTING),
  *(status.TaskState.BACKOFF, status.TaskState.WAITING),
)
_RIGHT = ('pid', 'uptime', 'restarts', 'steps/s')


def page(run_dir: str | pathlib.Path) -> str:
  """Returns what a run is doing, or how it ended.

  Args:
    run_dir: the run directory.

  Raises:
    FileNotFoundError: no run has written its status there.
  """
  snapshot = snapshot_lib.take(run_dir)
  lines = [
    f'{run_dir}: {_state(snapshot)}',
    '',
    *_table(snapshot),
    '',
    *_facts(snapshot),
  ]
  if snapshot.status.alive:
    waits = reasons.find(snapshot)
    found = [*stuck.find(snapshot, waits, _STUCK_AFTER), *waits]
    lines += ['', 'who waits for whom' if found else 'no task waits']
    lines += [f'  {reason.text}' for reason in found]
  return '\n'.join(lines)


def _state(snapshot: snapshot_lib.Snapshot) -> str:
  launcher = snapshot.status.launcher
  if snapshot.status.alive:
    return f'{launcher.state}, launcher {launcher.pid}'
  if launcher.state == status.RunState.ENDED:
    return f'ended with exit code {launcher.exit_code}'
  return f'its launcher {launcher.pid} was killed'


def _table(snapshot: snapshot_lib.Snapshot) -> list[str]:
  rows = [_COLUMNS, *(_task(snapshot, name) for name in snapshot.tasks)]
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return ['  ' + _line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
  cells = [
    cell.rjust(width) if name in _RIGHT else cell.ljust(width)
    for name, cell, width in zip(_COLUMNS, row, widths, strict=True)
  ]
  return '  '.join(cells).rstrip()


def _task(snapshot: snapshot_lib.Snapshot, name: str) -> tuple[str, ...]:
  task = snapshot.tasks[name]
  row = snapshot.rows.get(name, [{}])[-1:] or [{}]
  alive = snapshot.status.alive
  state = 'gone' if not alive and task.state in _GONE else task.state
  uptime = snapshot.status.uptime(task)
  rate = metric_names.qualify(task.label, metric_names.STEPS_PER_SECOND)
  address = ' '.join(task.addresses) if alive else ''
  if name in snapshot.silent:
    address += ' (silent)'
  return (
    name,
    state,
    str(task.pid or ''),
    '' if uptime is None else screen.duration(uptime),
    str(task.restarts),
    address,
    _rate(row[0].get(rate)) if alive else '',
    _weights(row[0]),
  )


def _weights(row: metrics.Row) -> str:
  if metric_names.WEIGHTS_VERSION not in row:
    return ''
  lag = row.get(metric_names.WEIGHTS_LAG, 0)
  return f'v{row[metric_names.WEIGHTS_VERSION]:.0f}, lag {lag:.0f}'


def _facts(snapshot: snapshot_lib.Snapshot) -> Iterator[str]:
  for role, name in (
    ('actor', metric_names.ACTOR_STEPS),
    ('learner', metric_names.LEARNER_STEPS),
  ):
    rate = snapshot.rate(name) if snapshot.status.alive else None
    rate = '' if rate is None else f'  {rate:,.0f} a second'
    yield f'  {f"{role} steps":<17}  {snapshot.count(name):,}{rate}'
  for label in ('replay', 'variable_server'):
    for server in snapshot.with_label(label):
      for table, *_ in snapshot.tables.get(server, ()):
        yield (
          f'  {server:<17}  {table.name}: {table.size:,} of '
          f'{table.max_size:,} items; {table.describe()}'
        )


def _rate(value: float | None) -> str:
  return '' if value is None else f'{value:,.0f}'
