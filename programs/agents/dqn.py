"""DQN, double and with prioritised replay, for discrete actions.

Mnih et al., 2015, https://doi.org/10.1038/nature14236; van Hasselt et al.,
2015, https://arxiv.org/abs/1509.06461; Schaul et al., 2015,
https://arxiv.org/abs/1511.05952.
"""

import compat  # noqa: F401

import haiku as hk
from acme import specs
from acme.agents.jax import dqn
from acme.jax import networks as networks_lib

from programs.agents import AgentParts, configs, networks

Config = configs.DQN


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config
) -> AgentParts:
  """Returns DQN's parts for an experiment."""
  acme_config = dqn.DQNConfig(
    **config.for_acme(),
    learning_rate=config.learning_rate,
    epsilon=config.epsilon,
    target_update_period=config.target_update_period,
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
    # Acme's learner has its variables under any name, its actor asks for this.
    variable_names=('',),
  )


def _make_network(
  spec: specs.EnvironmentSpec, config: Config
) -> networks_lib.FeedForwardNetwork:
  """Returns a network from observations to float32[batch, actions] values."""

  def values(observation):
    torso = networks.Torso(spec.observations, config.hidden_layer_sizes)
    return hk.Linear(spec.actions.num_values)(torso(observation))

  return networks.feed_forward(spec, values)
