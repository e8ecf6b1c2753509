"""Weights between processes, over a Reverb server."""

from container.publisher import Publisher
from container.reverb_variable_container import DEFAULT_TABLE
from container.reverb_variable_container import POLICY_KEY
from container.reverb_variable_container import ReverbVariableContainer
from container.reverb_variable_container import Snapshot
from container.reverb_variable_container import TRAIN_STEP_KEY
from container.reverb_variable_container import variable_table
from container.variable_source import VariableSource

__all__ = [
  'DEFAULT_TABLE',
  'POLICY_KEY',
  'TRAIN_STEP_KEY',
  'Publisher',
  'ReverbVariableContainer',
  'Snapshot',
  'VariableSource',
  'variable_table',
]
