"""Checkpoints of one process: atomic, several kept, and never a wrong one.

Learner and counter each keep their own, so this has a file of its own. A
checkpoint is one file, complete before it gets its name, its hash in front.
What a kill left half-written is told apart, and the one before it is used.
"""

import dataclasses
import hashlib
import os
import pathlib
import pickle
import tempfile
import time
from typing import Any

import jax
import numpy as np
from absl import logging

_MAGIC = b'launchpad-rl checkpoint 1\n'
_SCALARS = {'b': 'a bool', 'i': 'an integer', 'u': 'an integer', 'f': 'a float'}
_HASH_BYTES = hashlib.sha256().digest_size


class CheckpointMismatchError(ValueError):
  """A checkpoint was made by another agent or other networks."""


@dataclasses.dataclass(frozen=True)
class CheckpointingConfig:
  """How a run is checkpointed.

  Attributes:
    directory: where; each process has a folder of its own below it.
    every_seconds: between two checkpoints of one process.
    max_to_keep: how many of each process.
    keep_replay: whether replay is kept as well, which takes as much room on
      disk as it does in memory.
  """

  directory: str
  every_seconds: float = 60.0
  max_to_keep: int = 3
  keep_replay: bool = False


class Checkpointer:
  """Saves a process's state now and then, and finds the newest whole one."""

  def __init__(self, config: CheckpointingConfig, name: str):
    """Makes the folder; earlier checkpoints in it stay.

    Args:
      config: how and where.
      name: of the process, such as `learner`.

    Raises:
      OSError: the folder cannot be made.
    """
    self._config = config
    self._directory = pathlib.Path(config.directory) / name
    self._directory.mkdir(parents=True, exist_ok=True)
    self._saved_at = time.monotonic()

  def due(self) -> bool:
    """Whether the last save was `every_seconds` ago."""
    return time.monotonic() - self._saved_at >= self._config.every_seconds

  def save(self, state: Any) -> None:
    """Saves `state` and deletes the oldest beyond `max_to_keep`.

    Args:
      state: a nest; JAX arrays become NumPy arrays.

    Raises:
      OSError: it cannot be written; earlier checkpoints are untouched.
    """
    payload = pickle.dumps(to_host(state))
    paths = self._paths()
    number = _number(paths[-1]) + 1 if paths else 1
    with tempfile.NamedTemporaryFile(
      dir=self._directory, prefix='.unfinished-', delete=False
    ) as f:
      try:
        f.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        f.flush()
        os.fsync(f.fileno())
        os.replace(f.name, self._directory / f'{number:08d}.checkpoint')
      except BaseException:
        os.unlink(f.name)
        raise
    self._saved_at = time.monotonic()
    for path in self._paths()[: -self._config.max_to_keep]:
      path.unlink()

  def restore(self) -> Any | None:
    """Returns the newest whole state, or None if there is none."""
    for path in reversed(self._paths()):
      try:
        return pickle.loads(_payload(path))
      except ValueError as e:
        logging.warning('%s; trying the one before it.', e)
    return None

  def _paths(self) -> list[pathlib.Path]:
    return sorted(self._directory.glob('*.checkpoint'), key=_number)


def _number(path: pathlib.Path) -> int:
  return int(path.stem)


def _payload(path: pathlib.Path) -> bytes:
  content = path.read_bytes()
  if not content.startswith(_MAGIC):
    raise ValueError(f'{path} is not a checkpoint of this program')
  digest = content[len(_MAGIC) :][:_HASH_BYTES]
  payload = content[len(_MAGIC) + _HASH_BYTES :]
  if hashlib.sha256(payload).digest() != digest:
    raise ValueError(f'{path} is torn')
  return payload


def to_host(nest: Any) -> Any:
  """Returns `nest` with its JAX arrays as NumPy arrays."""
  return jax.tree_util.tree_map(
    lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, nest
  )


def check_same_structure(saved: Any, current: Any) -> None:
  """Checks that a saved nest fits where the current one is.

  Raises:
    CheckpointMismatchError: naming the first leaf that differs.
  """
  saved_leaves, current_leaves = _described(saved), _described(current)
  for path in sorted(current_leaves.keys() | saved_leaves.keys()):
    found = saved_leaves.get(path, 'nothing')
    expected = current_leaves.get(path, 'nothing')
    if found != expected:
      raise CheckpointMismatchError(
        f'the checkpoint was made by another agent or network: at {path} it '
        f'has {found}, this one {expected}. Resume with the flags of the run '
        'that made it, or take a new --run_dir.'
      )


def _described(nest: Any) -> dict[str, str]:
  leaves, _ = jax.tree_util.tree_flatten_with_path(nest)
  return {
    jax.tree_util.keystr(path) or 'the top': _describe(leaf)
    for path, leaf in leaves
  }


def _describe(leaf: Any) -> str:
  if isinstance(leaf, bool | int | float):
    # A count begins as Python's, and is an array after its first step.
    leaf = np.asarray(leaf)
  if not hasattr(leaf, 'shape'):
    return type(leaf).__name__
  kind = getattr(leaf.dtype, 'kind', None)
  if leaf.shape == () and kind in _SCALARS:
    return _SCALARS[kind]
  return f'{leaf.dtype}{list(leaf.shape)}'
