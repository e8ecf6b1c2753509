"""Which actions and observations an agent takes: checked before all else."""

from typing import Any

import compat  # noqa: F401

import numpy as np
from acme import specs

from programs.agents import configs

_IMAGE_RANK = 3


def is_discrete(actions: specs.Array) -> bool:
  """Whether an action is one choice among several."""
  return isinstance(actions, specs.DiscreteArray)


def check(agent: str, spec: specs.EnvironmentSpec) -> None:
  """Raises `ValueError` unless an agent takes such actions and observations."""
  action, observation = (
    _action_kind(spec.actions),
    _observation_kind(spec.observations),
  )
  for what, found, kind, taken in (
    ('actions', spec.actions, action, configs.ACTIONS),
    ('observations', spec.observations, observation, configs.OBSERVATIONS),
  ):
    if kind in taken[agent]:
      continue
    others = [
      name
      for name in configs.CONFIGS
      if action in configs.ACTIONS[name]
      and observation in configs.OBSERVATIONS[name]
    ]
    raise ValueError(
      f'{agent} takes {" or ".join(taken[agent])} {what}, this environment has '
      f'{found}; agents that fit it: {", ".join(others) or "none"}'
    )


def _action_kind(actions: specs.Array) -> str | None:
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


def _observation_kind(observations: Any) -> str:
  if not isinstance(observations, specs.Array):
    return 'nested'
  rank = len(observations.shape)
  if rank == _IMAGE_RANK:
    return 'image'
  is_floating = np.issubdtype(observations.dtype, np.floating)
  return 'vector' if rank == 1 and is_floating else 'other'
