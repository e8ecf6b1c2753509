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


@dataclasses.dataclass(frozen=True)
class DQN(OffPolicy):
  """Settings of DQN.

  Attributes:
    epsilon: how often an actor takes a random action.
    max_abs_reward: rewards are clipped to this.
    target_update_period: gradient steps between updates of the target.
  """

  batch_size: int = 64
  min_replay_size: int = 500
  max_replay_size: int = 100_000
  n_step: int = 3
  epsilon: float = 0.05
  max_abs_reward: float = 1.0
  target_update_period: int = 100


@dataclasses.dataclass(frozen=True)
class DDQN(OffPolicy):
  """Settings of DDQN.

  Attributes:
    epsilon: how often an actor takes a random action.
    target_update_period: gradient steps between updates of the target.
  """

  batch_size: int = 64
  min_replay_size: int = 500
  max_replay_size: int = 100_000
  n_step: int = 3
  epsilon: float = 0.05
  target_update_period: int = 100


@dataclasses.dataclass(frozen=True)
class R2D2:
  """Settings of R2D2.

  Attributes:
    hidden_layer_sizes: of the torso; the last is the LSTM's as well.
    learning_rate: of Adam.
    batch_size: sequences a gradient step.
    discount: of future rewards.
    burn_in_length: steps at a sequence's start that only warm up the LSTM.
    trace_length: steps of a sequence that are learned from.
    sequence_period: steps between the starts of two sequences.
    samples_per_insert: how often a sequence is learned from.
    min_replay_size: sequences in replay before learning starts.
    max_replay_size: sequences kept.
    target_update_period: gradient steps between updates of the target.
    n_step: rewards summed before bootstrapping.
    num_epsilons: rates of random actions, of which an episode draws one.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 32
  discount: float = 0.99
  burn_in_length: int = 2
  trace_length: int = 10
  sequence_period: int = 5
  samples_per_insert: float = 32.0
  min_replay_size: int = 100
  max_replay_size: int = 100_000
  target_update_period: int = 100
  n_step: int = 5
  num_epsilons: int = 8


@dataclasses.dataclass(frozen=True)
class PPO:
  """Settings of PPO.

  Attributes:
    hidden_layer_sizes: of the policy's and of the value's network.
    learning_rate: of Adam.
    unroll_length: steps of a trajectory.
    batch_size: trajectories of a learner step.
    num_minibatches: that a batch is cut into.
    num_epochs: passes over a batch.
    discount: of future rewards.
    gae_lambda: of generalised advantage estimation.
    clipping_epsilon: how far the policy moves in a learner step.
    entropy_cost: weight of the policy's entropy in the loss.
    value_cost: weight of the value's error in the loss.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 3e-4
  unroll_length: int = 64
  batch_size: int = 16
  num_minibatches: int = 8
  num_epochs: int = 8
  discount: float = 0.99
  gae_lambda: float = 0.95
  clipping_epsilon: float = 0.2
  entropy_cost: float = 0.0
  value_cost: float = 0.5


@dataclasses.dataclass(frozen=True)
class IMPALA:
  """Settings of IMPALA.

  Attributes:
    hidden_layer_sizes: of the torso; the last is the LSTM's as well.
    learning_rate: of Adam.
    batch_size: sequences a gradient step.
    sequence_length: steps of a sequence.
    discount: of future rewards.
    entropy_cost: weight of the policy's entropy in the loss.
    baseline_cost: weight of the value's error in the loss.
    max_gradient_norm: gradients are scaled down to this.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 8
  sequence_length: int = 20
  discount: float = 0.99
  entropy_cost: float = 0.01
  baseline_cost: float = 0.5
  max_gradient_norm: float = 40.0


@dataclasses.dataclass(frozen=True)
class BC:
  """Settings of BC.

  Attributes:
    hidden_layer_sizes: of the policy's network.
    learning_rate: of Adam.
    batch_size: transitions a gradient step.
    num_episodes: demonstrated, the last of those recorded.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 128
  num_episodes: int = 20


@dataclasses.dataclass(frozen=True)
class ValueDice(OffPolicy):
  """Settings of ValueDice, whose `learning_rate` is of its critic.

  Attributes:
    policy_learning_rate: of Adam.
    alpha: share of the replay in the mixture with the demonstrations.
    policy_reg_scale: weight of the policy's orthogonal regularisation.
    nu_reg_scale: weight of the critic's gradient penalty.
    num_episodes: demonstrated, the last of those recorded.
  """

  policy_learning_rate: float = 1e-4
  alpha: float = 0.05
  policy_reg_scale: float = 1e-4
  nu_reg_scale: float = 10.0
  num_episodes: int = 20


@dataclasses.dataclass(frozen=True)
class AIL(OffPolicy):
  """Settings of AIL.

  Attributes:
    tau: share of the critics' weights that their targets take up a step.
    discriminator_learning_rate: of Adam.
    entropy_coefficient: weight of the discriminator's entropy in its loss.
    num_episodes: demonstrated, the last of those recorded.
  """

  tau: float = 0.005
  discriminator_learning_rate: float = 3e-4
  entropy_coefficient: float = 1e-3
  num_episodes: int = 20


CONFIGS = {
  'sac': SAC,
  'td3': TD3,
  'd4pg': D4PG,
  'ppo': PPO,
  'dqn': DQN,
  'ddqn': DDQN,
  'impala': IMPALA,
  'r2d2': R2D2,
  'bc': BC,
  'value_dice': ValueDice,
  'ail': AIL,
}
# Continuous ones are in [-1, 1], as `programs.environments` makes them.
ACTIONS = {
  'sac': ('continuous',),
  'td3': ('continuous',),
  'd4pg': ('continuous',),
  'ppo': ('continuous', 'discrete'),
  'dqn': ('discrete',),
  'ddqn': ('discrete',),
  'impala': ('discrete',),
  'r2d2': ('discrete',),
  'bc': ('continuous', 'discrete'),
  'value_dice': ('continuous',),
  'ail': ('continuous',),
}
_VECTORS = ('vector',)
_ALL = ('vector', 'image', 'nested', 'other')
# Those of other ranks or dtypes than a vector's are `other`.
OBSERVATIONS = {
  'sac': _VECTORS,
  'td3': _VECTORS,
  'd4pg': ('vector', 'nested'),
  'ppo': _ALL,
  'dqn': _ALL,
  'ddqn': _ALL,
  'impala': _ALL,
  'r2d2': _ALL,
  'bc': _ALL,
  'value_dice': _VECTORS,
  'ail': _VECTORS,
}
# They need demonstrations.
IMITATORS = ('bc', 'value_dice', 'ail')
# They learn from sequences or with their own actors' help, not from recorded
# transitions.
ONLINE_ONLY = ('ppo', 'impala', 'r2d2')
# They have no actors.
OFFLINE_ONLY = ('bc',)
