"""DQN, double and with prioritised replay, for discrete actions.

Mnih et al., 2015, https://doi.org/10.1038/nature14236; van Hasselt et al.,
2015, https://arxiv.org/abs/1509.06461; Schaul et al., 2015,
https://arxiv.org/abs/1511.05952.
"""

import dataclasses

from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.Config):
  """Settings of DQN.

  Attributes:
    epsilon: probability that an actor takes a random action.
    max_abs_reward: rewards are clipped to at most this absolute value.
    target_update_period: gradient steps between updates of the target.
  """

  batch_size: limits.Count = 64
  min_replay_size: limits.Count = 500
  max_replay_size: limits.Count = 100_000
  n_step: limits.Count = 3
  epsilon: limits.Share = 0.05
  max_abs_reward: limits.Positive = 1.0
  target_update_period: limits.Count = 100


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns DQN's parts for an experiment."""
  import reverb
  from acme.agents.jax import dqn

  from programs.agents.shared import networks, packed_transitions

  acme_config = make_acme_config(config)
  loss = dqn.PrioritizedDoubleQLearning(
    discount=config.discount,
    importance_sampling_exponent=acme_config.importance_sampling_exponent,
    max_abs_reward=config.max_abs_reward,
  )
  return description.AgentParts(
    builder=packed_transitions.PackedTransitions(
      dqn.DQNBuilder(acme_config, loss),
      environment_spec,
      acme_config,
      lambda: reverb.selectors.Prioritized(acme_config.priority_exponent),
    ),
    network_factory=lambda spec: networks.action_values(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=dqn.behavior_policy,
    eval_policy_factory=lambda network: dqn.default_behavior_policy(
      network, 0.0
    ),
    # Acme's actor asks for this name, and its learner accepts any name.
    variable_names=('',),
  )


def make_acme_config(config: Config):
  """Returns the `acme.agents.jax.dqn.DQNConfig` of DQN's builder."""
  from acme.agents.jax import dqn

  return dqn.DQNConfig(
    **config.for_acme(),
    learning_rate=config.learning_rate,
    epsilon=config.epsilon,
    target_update_period=config.target_update_period,
  )


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.DISCRETE,),
  observations=description.ANY_OBSERVATIONS,
  check_config=off_policy.check,
)
