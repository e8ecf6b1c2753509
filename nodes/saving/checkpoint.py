"""Checkpoints of one process: written whole, several kept.

A checkpoint is one file, which is complete before it gets its name, and holds
values alone (see `saved_state`). What a kill left half-written has another name
and is removed. In place of a damaged checkpoint the one before it is used.
"""

import contextlib
import dataclasses
import pathlib
import time
from collections.abc import Mapping
from typing import Any

from absl import logging

from nodes.saving import saved_state
from run_files import damage, patience, whole_files

_SUFFIX = '.checkpoint'
_EARLIER_FORMAT = b'launchpad-rl checkpoint 1\n'


@dataclasses.dataclass(frozen=True)
class CheckpointingConfig:
  """How a run is checkpointed.

  Attributes:
    directory: the folder below which each process has a folder of its own.
    every_seconds: seconds between two checkpoints of one process.
    max_to_keep: how many checkpoints of each process are kept.
    keep_replay: whether replay is saved as well, which takes as much room on
      disk as it does in memory.
  """

  directory: str
  every_seconds: float = 60.0
  max_to_keep: int = 3
  keep_replay: bool = False


class Checkpointer:
  """Saves a process's state now and then, and finds the newest whole state."""

  def __init__(self, config: CheckpointingConfig, name: str):
    """Writes nothing yet, and leaves earlier checkpoints alone.

    Args:
      config: where the checkpoints are, and how many.
      name: the process's name, such as `learner`.
    """
    self._config = config
    self._directory = pathlib.Path(config.directory) / name
    self._saved_at = time.monotonic()
    self._has_begun = False
    self._patience = patience.Patience(
      f'the checkpoint of the {name} in {self._directory}',
      'the run goes on, earlier ones are kept, and it is tried again every '
      f'{config.every_seconds:g} s',
    )

  def due(self) -> bool:
    """Returns whether the last save was at least `every_seconds` ago."""
    return time.monotonic() - self._saved_at >= self._config.every_seconds

  def postpone(self) -> None:
    """Makes the next save due in `every_seconds`, as if one was made now."""
    self._saved_at = time.monotonic()

  def save(self, state: Any, facts: Mapping[str, Any]) -> None:
    """Saves `state` and deletes the oldest checkpoints beyond `max_to_keep`.

    If the disk takes nothing now, that is printed once, and earlier checkpoints
    are left alone.

    Args:
      state: a nest; see `saved_state.to_bytes`.
      facts: texts and numbers by name.

    Raises:
      leaves.UnsavableError: the state has a leaf that is not a value.
    """
    content = saved_state.to_bytes(state, facts)
    self._saved_at = time.monotonic()
    with self._patience.attempt():
      self._begin()
      paths = _paths(self._directory)
      number = _number(paths[-1]) + 1 if paths else 1
      new = self._directory / f'{number:08d}{_SUFFIX}'
      whole_files.write(new, content)
      for path in [*paths, new][: -self._config.max_to_keep]:
        # What cannot be removed, such as a folder, is left where it is.
        with contextlib.suppress(OSError):
          path.unlink()

  def close(self) -> None:
    """Prints a line if the last state could not be saved."""
    if self._patience.error is not None:
      number = len(_paths(self._directory))
      print(
        f'the last state of this process is lost, as {self._directory} could '
        f'not be written; {number} from before are kept',
        flush=True,
      )

  def restore(self) -> saved_state.Saved | None:
    """Returns the newest whole state, or None if nothing was saved.

    Raises:
      damage.DamagedError: there are checkpoints, and none of them is whole.
    """
    return newest(self._directory)

  def _begin(self) -> None:
    if not self._has_begun:
      self._directory.mkdir(parents=True, exist_ok=True)
      whole_files.remove_unfinished(self._directory)
      self._has_begun = True


def newest(directory: pathlib.Path) -> saved_state.Saved | None:
  """Returns the newest whole state in a folder; see `Checkpointer.restore`."""
  damaged = []
  for path in reversed(_paths(directory)):
    try:
      saved = _read(path)
    except FileNotFoundError:
      continue  # Its process has deleted it since.
    except (OSError, ValueError) as e:
      damaged.append(f'{path.name} ({e})')
      continue
    if damaged:
      logging.warning(
        'Damaged in %s: %s. Going on from the one before, %s.',
        *(directory, ', '.join(damaged), path.name),
      )
    return saved
  if damaged:
    raise damage.DamagedError(
      f'none of the checkpoints in {directory} can be used: '
      f'{", ".join(damaged)}. Put back a whole one, or remove them so that '
      'this process begins afresh, or name another --run_dir'
    )
  return None


def _paths(directory: pathlib.Path) -> list[pathlib.Path]:
  """Returns the checkpoints in a folder, the oldest first."""
  paths = (p for p in directory.glob(f'*{_SUFFIX}') if _is_ours(p.stem))
  return sorted(paths, key=_number)


def _is_ours(stem: str) -> bool:
  """Returns whether `save` names a file so, less its suffix."""
  is_number = stem.isascii() and stem.isdigit()
  return is_number and stem == f'{int(stem):08d}'


def _number(path: pathlib.Path) -> int:
  return int(path.stem)


def _read(path: pathlib.Path) -> saved_state.Saved:
  content = path.read_bytes()
  if content.startswith(_EARLIER_FORMAT):
    raise ValueError('made by an earlier version: to load it could run code')
  return saved_state.from_bytes(content)
