"""Which actions an agent takes: checked before anything starts."""

import compat  # noqa: F401

import numpy as np
from acme import specs


def check_continuous(agent: str, actions: specs.Array) -> None:
  """Raises `ValueError` unless actions are continuous within [-1, 1]."""
  if is_discrete(actions) or not isinstance(actions, specs.BoundedArray):
    raise ValueError(
      f'{agent} takes continuous actions in [-1, 1], this environment {actions}'
    )
  if not (np.all(actions.minimum == -1) and np.all(actions.maximum == 1)):
    raise ValueError(
      f'{agent} takes actions in [-1, 1], this environment {actions}'
    )


def check_discrete(agent: str, actions: specs.Array) -> None:
  """Raises `ValueError` unless an action is one of a number of choices."""
  if not is_discrete(actions):
    raise ValueError(
      f'{agent} takes discrete actions, this environment {actions}'
    )


def is_discrete(actions: specs.Array) -> bool:
  """Whether an action is one of a number of choices."""
  return isinstance(actions, specs.DiscreteArray)
