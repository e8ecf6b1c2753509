"""DQN, double and with prioritised replay, for discrete actions.

Mnih et al., 2015, https://doi.org/10.1038/nature14236; van Hasselt et al.,
2015, https://arxiv.org/abs/1509.06461; Schaul et al., 2015,
https://arxiv.org/abs/1511.05952.
"""

import dataclasses

import compat  # noqa: F401

import haiku as hk
from acme import specs
from acme.agents.jax import dqn
from acme.jax import networks as networks_lib
from acme.jax import utils

from programs.agents import AgentParts, actions


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of DQN.

  Attributes:
    hidden_layer_sizes: of the network.
    learning_rate: of Adam.
    batch_size: transitions a gradient step.
    discount: of future rewards.
    epsilon: how often an actor takes a random action.
    max_abs_reward: rewards are clipped to this.
    target_update_period: gradient steps between updates of the target.
    gradient_steps_per_step: gradient steps for each environment step.
    min_replay_size: transitions in replay before learning starts.
    max_replay_size: transitions kept.
    n_step: rewards summed before bootstrapping.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 64
  discount: float = 0.99
  epsilon: float = 0.05
  max_abs_reward: float = 1.0
  target_update_period: int = 100
  gradient_steps_per_step: float = 1.0
  min_replay_size: int = 500
  max_replay_size: int = 100_000
  n_step: int = 3


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config | None = None
) -> AgentParts:
  """Returns DQN's parts for an experiment.

  Raises:
    ValueError: the actions are not discrete.
  """
  config = config or Config()
  actions.check_discrete('dqn', environment_spec.actions)
  acme_config = dqn.DQNConfig(
    batch_size=config.batch_size,
    learning_rate=config.learning_rate,
    discount=config.discount,
    n_step=config.n_step,
    epsilon=config.epsilon,
    target_update_period=config.target_update_period,
    min_replay_size=config.min_replay_size,
    max_replay_size=config.max_replay_size,
    # Acme counts samples, not gradient steps, for each insert.
    samples_per_insert=config.batch_size * config.gradient_steps_per_step,
  )
  loss = dqn.PrioritizedDoubleQLearning(
    discount=config.discount,
    importance_sampling_exponent=acme_config.importance_sampling_exponent,
    max_abs_reward=config.max_abs_reward,
  )
  return AgentParts(
    builder=dqn.DQNBuilder(acme_config, loss),
    network_factory=lambda spec: _make_network(spec, config),
    policy_factory=dqn.behavior_policy,
    eval_policy_factory=lambda network: dqn.default_behavior_policy(
      network, 0.0
    ),
    variable_names=('',),
  )


def _make_network(
  spec: specs.EnvironmentSpec, config: Config
) -> networks_lib.FeedForwardNetwork:
  """Returns a network from observations to float32[batch, actions] values."""

  def values(observation):
    network = hk.nets.MLP([*config.hidden_layer_sizes, spec.actions.num_values])
    return network(utils.batch_concat(observation))

  network = hk.without_apply_rng(hk.transform(values))
  observation = utils.add_batch_dim(utils.zeros_like(spec.observations))
  return networks_lib.FeedForwardNetwork(
    lambda key: network.init(key, observation), network.apply
  )
