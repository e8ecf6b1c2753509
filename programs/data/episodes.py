"""Turns the steps of a recorded episode into Acme's transitions."""

from collections.abc import Sequence
from typing import Any

import compat  # noqa: F401

import numpy as np
import tree
from acme import specs, types

from nodes.checks import finite


def to_transitions(
  source: str,
  spec: specs.EnvironmentSpec,
  observations: Sequence[np.ndarray],
  actions: Sequence[np.ndarray],
  rewards: np.ndarray,
  discounts: np.ndarray,
) -> types.Transition:
  """Returns the n transitions of an episode of n steps.

  Args:
    source: the episode's name, for the error.
    spec: the spec of the environment that the episode must come from.
    observations: arrays of [n + 1, ...], one for each leaf of the spec's
      observations, in the order of the leaves.
    actions: arrays of [n, ...], one for each leaf of the spec's actions.
    rewards: float[n], the steps' rewards.
    discounts: float[n], 0 where the episode terminated, otherwise 1.

  Raises:
    ValueError: the episode comes from another environment, or has a value that
      is not finite.
  """
  observation = _to_nest(source, 'observation', observations, spec.observations)
  action = _to_nest(source, 'action', actions, spec.actions)
  recorded = {
    'observation': observation,
    'action': action,
    'reward': rewards,
    'discount': discounts,
  }
  for name, nest in recorded.items():
    _check_finite(source, name, nest)
  return types.Transition(
    observation=tree.map_structure(lambda x: x[:-1], observation),
    action=action,
    reward=np.asarray(rewards, np.float32),
    discount=np.asarray(discounts, np.float32),
    next_observation=tree.map_structure(lambda x: x[1:], observation),
  )


def _to_nest(
  source: str, name: str, leaves: Sequence[np.ndarray], spec: Any
) -> Any:
  found = [(a.shape[1:], a.dtype.name) for a in leaves]
  wanted = [
    (tuple(leaf.shape), np.dtype(leaf.dtype).name)
    for leaf in tree.flatten(spec)
  ]
  if found != wanted:
    raise ValueError(
      f'{source} was recorded in another environment: its {name} is {found}, '
      f'and here it is {wanted}'
    )
  return tree.unflatten_as(spec, leaves)


def _check_finite(source: str, name: str, nest: Any) -> None:
  for leaf in tree.flatten(nest):
    # All steps are checked at once first, since they are nearly always finite.
    if finite.find(leaf) is not None:
      step = next(i for i, x in enumerate(leaf) if finite.find(x) is not None)
      raise ValueError(
        f'{source}, step {step:,}: the {finite.find(leaf[step], name)}, and so '
        'would be the weights that are learned from it. Take that episode out.'
      )
