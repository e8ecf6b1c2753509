"""Checkpoints of one process. Several are kept.

A checkpoint is one file of plain values, with no code (see `saved_state`). The
file gets its name when it is complete. If a process is killed while it writes,
the unfinished file has another name, and is removed later. If the newest
checkpoint is damaged, the one before it is used.
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
    directory: the parent folder of the processes' checkpoint folders.
    every_seconds: seconds between two checkpoints of one process.
    max_to_keep: how many checkpoints of each process are kept.
    keep_replay: whether replay is saved as well. It takes as much room on disk
      as in memory.
  """

  directory: str
  every_seconds: float = 60.0
  max_to_keep: int = 3
  keep_replay: bool = False


class Checkpointer:
  """Saves a process's state at intervals, and finds the newest whole state."""

  def __init__(self, config: CheckpointingConfig, name: str):
    """Makes a checkpointer; nothing is written or deleted yet.

    Args:
      config: the folder, the interval, and how many checkpoints are kept.
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
    """Skips a save: the next one is due in `every_seconds`."""
    self._saved_at = time.monotonic()

  def save(self, state: Any, facts: Mapping[str, Any]) -> None:
    """Saves `state` and deletes the oldest checkpoints beyond `max_to_keep`.

    If the disk cannot be written now, a line is printed once, and no earlier
    checkpoint is deleted.

    Args:
      state: a nest; see `saved_state.to_bytes`.
      facts: texts and numbers by name, which are saved with the state.

    Raises:
      leaves.UnsavableError: the state has a leaf that is not a plain value.
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
        # A folder, for example, cannot be unlinked. It stays there.
        with contextlib.suppress(OSError):
          path.unlink()

  def close(self) -> None:
    """Prints a line if the last state could not be saved."""
    if self._patience.error is not None:
      number = len(_paths(self._directory))
      print(
        f'the last state of this process is lost, since {self._directory} '
        f'could not be written; {number} from before are kept',
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
      continue  # The process that writes checkpoints has just deleted it.
    except (OSError, ValueError) as e:
      damaged.append(f'{path.name} ({e})')
      continue
    if damaged:
      logging.warning(
        'These checkpoints in %s are damaged: %s. The one before them, %s, is '
        'used.',
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
  """Returns whether `save` uses such a file name, given without its suffix."""
  is_number = stem.isascii() and stem.isdigit()
  return is_number and stem == f'{int(stem):08d}'


def _number(path: pathlib.Path) -> int:
  return int(path.stem)


def _read(path: pathlib.Path) -> saved_state.Saved:
  content = path.read_bytes()
  if content.startswith(_EARLIER_FORMAT):
    raise ValueError(
      'it was made by an earlier version, and to load it could run code'
    )
  return saved_state.from_bytes(content)
