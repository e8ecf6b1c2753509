"""A run's scalars as TensorBoard's event files, without TensorFlow.

Each process has a folder, which TensorBoard calls a run, with one file in it.
Each row becomes one event with all of its scalars, so the number of events in a
file tells how many rows it has.
"""

import collections
import io
import pathlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer import record_writer

from run_files import metric_names, tail

_FOLDER = 'tensorboard'
# TensorBoard recognizes its files by the middle of this name.
_FILE = 'events.out.tfevents.metrics'
# A record is its length as a uint64, the checksum of that, the data, and their
# checksum.
_HEAD_BYTES, _FOOT_BYTES = 12, 4


def sent(run_dir: pathlib.Path) -> collections.Counter[str]:
  """Returns how many rows of each process are in its event file."""
  counts = collections.Counter()
  for path in (run_dir / _FOLDER).glob(f'*/{_FILE}'):
    # The first event is the version of the format.
    counts[path.parent.name] = max(sum(1 for _ in _ends(path)) - 1, 0)
  return counts


class Sink:
  """Appends to the event files."""

  def __init__(self, run_dir: pathlib.Path, config: Mapping[str, Any]):
    """Cuts off events that a kill has torn.

    Args:
      run_dir: the run directory.
      config: values by the names of flags.
    """
    self._folder = run_dir / _FOLDER
    self._program = config['program']
    for path in self._folder.glob(f'*/{_FILE}'):
      with path.open('rb+') as f:
        f.truncate(max(_ends(path), default=0))

  def write(self, process: str, rows: Sequence[tail.Row]) -> None:
    """Appends rows to the file before it returns.

    Args:
      process: label and index of the process that wrote them: `actor_0`.
      rows: in the order of writing.

    Raises:
      OSError: the file cannot be written.
    """
    path = self._folder / process / _FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    steps = metric_names.steps_axis(process, self._program)
    events = [_event(row, steps) for row in rows]
    if not path.exists() or not path.stat().st_size:
      version = 'brain.Event:2'
      wall_time = events[0].wall_time
      first = event_pb2.Event(wall_time=wall_time, file_version=version)
      events.insert(0, first)
    buffer = io.BytesIO()
    writer = record_writer.RecordWriter(buffer)
    for event in events:
      writer.write(event.SerializeToString())
    with path.open('ab') as f:
      f.write(buffer.getvalue())

  def close(self) -> None:
    """Does nothing: every row is in the files already."""


def _event(row: tail.Row, steps: str) -> event_pb2.Event:
  numbers = {
    name: value for name, value in row.items() if not isinstance(value, str)
  }
  wall_time = numbers.pop(metric_names.TIME, 0.0)
  scalars = [
    summary_pb2.Summary.Value(tag=name, simple_value=value)
    for name, value in numbers.items()
  ]
  return event_pb2.Event(
    wall_time=wall_time,
    step=int(numbers.get(steps, 0)),
    summary=summary_pb2.Summary(value=scalars),
  )


def _ends(path: pathlib.Path) -> Iterator[int]:
  """Yields where each whole record of a file ends."""
  size, end = path.stat().st_size, 0
  with path.open('rb') as f:
    while len(head := f.read(_HEAD_BYTES)) == _HEAD_BYTES:
      (length,) = struct.unpack('<Q', head[:8])
      end += _HEAD_BYTES + length + _FOOT_BYTES
      if end > size:
        return
      yield end
      f.seek(end)
