"""Which actions an agent takes: checked before anything starts."""

import compat  # noqa: F401

import numpy as np
from acme import specs


def check_continuous(agent: str, actions: specs.Array) -> None:
  """Raises `ValueError` unless actions are continuous within [-1, 1]."""
  continuous = isinstance(actions, specs.BoundedArray) and not isinstance(
    actions, specs.DiscreteArray
  )
  if not continuous or not (
    np.all(actions.minimum == -1) and np.all(actions.maximum == 1)
  ):
    raise ValueError(
      f'{agent} takes continuous actions in [-1, 1], this environment {actions}'
    )
