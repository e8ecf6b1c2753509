"""An episode's steps, wherever they were kept, as Acme's transitions."""

from collections.abc import Sequence
from typing import Any

import compat  # noqa: F401

import numpy as np
import tree
from acme import specs, types

from nodes import finite


def to_transitions(
  source: str,
  spec: specs.EnvironmentSpec,
  observations: Sequence[np.ndarray],
  actions: Sequence[np.ndarray],
  rewards: np.ndarray,
  discounts: np.ndarray,
) -> types.Transition:
  """Returns the n transitions of an episode.

  Args:
    source: where it comes from, for the error.
    spec: of the environment.
    observations: leaves of [n + 1, ...], in the order of the spec's.
    actions: leaves of [n, ...].
    rewards: float[n].
    discounts: float[n], 0 where the environment had come to an end.

  Raises:
    ValueError: they are of another environment, or not finite.
  """
  observation = _nest(source, 'observation', observations, spec.observations)
  action = _nest(source, 'action', actions, spec.actions)
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


def _nest(source: str, name: str, leaves: Sequence[np.ndarray], like: Any):
  found = [(a.shape[1:], a.dtype.name) for a in leaves]
  wanted = [
    (tuple(s.shape), np.dtype(s.dtype).name) for s in tree.flatten(like)
  ]
  if found != wanted:
    raise ValueError(
      f'{source} was recorded in another environment: its {name} is {found}, '
      f'and here it is {wanted}'
    )
  return tree.unflatten_as(like, leaves)


def _check_finite(source: str, name: str, nest: Any) -> None:
  for leaf in tree.flatten(nest):
    # Most are, which one look tells.
    if finite.find(leaf) is not None:
      step = next(i for i, x in enumerate(leaf) if finite.find(x) is not None)
      raise ValueError(
        f'{source}, step {step:,}: the {finite.find(leaf[step], name)}, and so '
        'would be whatever learns from it. Take that episode out.'
      )
