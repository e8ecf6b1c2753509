"""Weights between processes, over a Reverb server."""

from container.host_cache import sweep
from container.publisher import Publisher
from container.reverb_variable_container import (
  ReverbVariableContainer,
  Snapshot,
)
from container.tables import (
  DEFAULT_TABLE,
  POLICY_KEY,
  TRAIN_STEP_KEY,
  variable_table,
)
from container.transport import ClosedError
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
