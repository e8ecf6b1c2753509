"""Which actions an agent takes: checked before anything starts."""

import compat  # noqa: F401

import numpy as np
from acme import specs

from programs.agents import configs


def is_discrete(actions: specs.Array) -> bool:
  """Whether an action is one choice among several."""
  return isinstance(actions, specs.DiscreteArray)


def _kind(actions: specs.Array) -> str | None:
  if is_discrete(actions):
    return 'discrete'
  if (
    isinstance(actions, specs.BoundedArray)
    and np.issubdtype(actions.dtype, np.floating)
    and np.all(actions.minimum == -1)
    and np.all(actions.maximum == 1)
  ):
    return 'continuous'
  return None


def check(agent: str, actions: specs.Array) -> None:
  """Raises `ValueError` unless an agent takes such actions."""
  kind, taken = _kind(actions), configs.ACTIONS[agent]
  if kind not in taken:
    others = [name for name, kinds in configs.ACTIONS.items() if kind in kinds]
    raise ValueError(
      f'{agent} takes {" or ".join(taken)} actions, this environment has '
      f'{actions}; agents that fit it: {", ".join(others) or "none"}'
    )
