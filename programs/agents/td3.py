"""TD3 (Fujimoto et al., 2018, https://arxiv.org/abs/1802.09477).

For continuous actions in [-1, 1].
"""

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import td3

from programs.agents import AgentParts, configs

Config = configs.TD3


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config
) -> AgentParts:
  """Returns TD3's parts for an experiment."""
  acme_config = td3.TD3Config(
    **config.for_acme(),
    policy_learning_rate=config.learning_rate,
    critic_learning_rate=config.learning_rate,
    sigma=config.sigma,
    delay=config.delay,
    tau=config.tau,
  )

  def policy(networks: td3.TD3Networks, sigma: float):
    return td3.get_default_behavior_policy(
      networks, environment_spec.actions, sigma
    )

  return AgentParts(
    builder=td3.TD3Builder(acme_config),
    network_factory=lambda spec: td3.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=lambda networks: policy(networks, config.sigma),
    eval_policy_factory=lambda networks: policy(networks, 0.0),
  )
