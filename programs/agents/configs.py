"""The agents' settings, apart from the agents.

Acme takes seconds to import, which a wrong setting on the command line should
not have to wait for.
"""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class OffPolicy:
  """Settings of every agent that learns from transitions in replay.

  Attributes:
    hidden_layer_sizes: of each network.
    learning_rate: of Adam.
    batch_size: transitions a gradient step.
    discount: of future rewards.
    gradient_steps_per_step: gradient steps for each environment step.
    min_replay_size: transitions in replay before learning starts.
    max_replay_size: transitions kept.
    n_step: rewards summed before bootstrapping.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 128
  discount: float = 0.99
  gradient_steps_per_step: float = 1.0
  min_replay_size: int = 1000
  max_replay_size: int = 1_000_000
  n_step: int = 1

  def for_acme(self) -> dict[str, Any]:
    """Returns those that all of Acme's configs have, under their names."""
    return {
      'batch_size': self.batch_size,
      'discount': self.discount,
      'n_step': self.n_step,
      'min_replay_size': self.min_replay_size,
      'max_replay_size': self.max_replay_size,
      # Acme counts samples, not gradient steps, for each insert.
      'samples_per_insert': self.batch_size * self.gradient_steps_per_step,
    }


@dataclasses.dataclass(frozen=True)
class SAC(OffPolicy):
  """Settings of SAC.

  Attributes:
    tau: share of the critics' weights that their targets take up a step.
  """

  tau: float = 0.005


@dataclasses.dataclass(frozen=True)
class TD3(OffPolicy):
  """Settings of TD3.

  Attributes:
    tau: share of the weights that the targets take up a step.
    sigma: standard deviation of the actors' noise.
    delay: gradient steps of the critics for one of the policy.
  """

  tau: float = 0.005
  sigma: float = 0.1
  delay: int = 2


@dataclasses.dataclass(frozen=True)
class D4PG(OffPolicy):
  """Settings of D4PG.

  Attributes:
    sigma: standard deviation of the actors' noise.
    vmin: the least discounted return that the critic can tell.
    vmax: the greatest.
    num_atoms: values in between that it tells apart.
    target_update_period: gradient steps between updates of the targets.
  """

  n_step: int = 5
  sigma: float = 0.3
  vmin: float = -1000.0
  vmax: float = 1000.0
  num_atoms: int = 101
  target_update_period: int = 100


CONFIGS = {'sac': SAC, 'td3': TD3, 'd4pg': D4PG}
