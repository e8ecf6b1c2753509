"""The settings of every agent that learns from transitions in replay."""

import dataclasses
from typing import Any

from programs.agents.shared import limits


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings that all of these agents have.

  Attributes:
    hidden_layer_sizes: units in each hidden layer, the same for all networks.
    learning_rate: step size of the optimizer, Adam.
    batch_size: transitions in the batch of a gradient step.
    discount: discount factor of each step.
    gradient_steps_per_step: gradient steps for each environment step.
    min_replay_size: transitions in replay before learning starts.
    max_replay_size: transitions that replay keeps.
    n_step: number of rewards that are summed before bootstrapping.
  """

  hidden_layer_sizes: limits.LayerSizes = (64, 64)
  learning_rate: limits.NonNegative = 1e-3
  batch_size: limits.Count = 128
  discount: limits.Share = 0.99
  gradient_steps_per_step: limits.Positive = 1.0
  min_replay_size: limits.Count = 1000
  max_replay_size: limits.Count = 1_000_000
  n_step: limits.Count = 1

  @property
  def samples_per_insert(self) -> float:
    """How often each transition is sampled; Acme's configs ask for this."""
    return self.batch_size * self.gradient_steps_per_step

  def for_acme(self) -> dict[str, Any]:
    """Returns the settings that all of Acme's configs have, by their names."""
    return {
      'batch_size': self.batch_size,
      'discount': self.discount,
      'n_step': self.n_step,
      'min_replay_size': self.min_replay_size,
      'max_replay_size': self.max_replay_size,
      'samples_per_insert': self.samples_per_insert,
    }


@dataclasses.dataclass(frozen=True)
class ActorCriticConfig(Config):
  """Settings that agents for continuous actions have as well.

  Attributes:
    gradient_steps_at_once: gradient steps that the learner takes in each of its
      steps, with a batch for each. With small networks, several take little
      longer than one, since most of a step's time goes into starting it.
  """

  gradient_steps_at_once: limits.Count = 1

  def for_acme(self) -> dict[str, Any]:
    at_once = {'num_sgd_steps_per_step': self.gradient_steps_at_once}
    return super().for_acme() | at_once


def check(config: Config) -> None:
  """Raises `ValueError` if actors or learner would wait for ever."""
  limits.check_replay(
    config.min_replay_size,
    config.max_replay_size,
    config.samples_per_insert,
    f'batch_size={config.batch_size} and '
    f'gradient_steps_per_step={config.gradient_steps_per_step}',
  )
