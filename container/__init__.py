"""Sends weights from one process to others through a Reverb server.

Leaves are TensorFlow tensors, NumPy arrays or JAX arrays. A process imports
TensorFlow or JAX only if it asks for their leaves. Two names are imported when
they are first used, since they need more: `VariableSource` needs Acme, and
`variable_table` needs Reverb and TensorFlow.
"""

import importlib
import typing

from container.client.connection import ClosedError
from container.host_cache.folders import sweep
from container.publisher import Publisher
from container.reverb_variable_container import (
  DEFAULT_TABLE,
  POLICY_KEY,
  TRAIN_STEP_KEY,
  ReverbVariableContainer,
  Snapshot,
)

if typing.TYPE_CHECKING:
  from container.tables import variable_table
  from container.variable_source import VariableSource

__all__ = [
  'DEFAULT_TABLE',
  'POLICY_KEY',
  'TRAIN_STEP_KEY',
  'ClosedError',
  'Publisher',
  'ReverbVariableContainer',
  'Snapshot',
  'VariableSource',
  'sweep',
  'variable_table',
]

_MODULES = {
  'VariableSource': 'container.variable_source',
  'variable_table': 'container.tables',
}


def __getattr__(name: str) -> typing.Any:
  if name not in _MODULES:
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
  return getattr(importlib.import_module(_MODULES[name]), name)
