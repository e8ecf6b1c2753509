"""Soft Actor-Critic (Haarnoja et al., 2018, https://arxiv.org/abs/1812.05905).

For continuous actions in [-1, 1]: Acme's builder and networks, with settings
that solve Pendulum in about 7,000 steps.
"""

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import sac

from programs.agents import AgentParts, configs

Config = configs.SAC


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config
) -> AgentParts:
  """Returns SAC's parts for an experiment."""
  return AgentParts(
    builder=sac.SACBuilder(_acme_config(config, environment_spec)),
    network_factory=lambda spec: sac.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=lambda networks: sac.apply_policy_and_sample(networks),
    eval_policy_factory=lambda networks: sac.apply_policy_and_sample(
      networks, eval_mode=True
    ),
  )


def _acme_config(
  config: Config, environment_spec: specs.EnvironmentSpec
) -> sac.SACConfig:
  return sac.SACConfig(
    **config.for_acme(),
    learning_rate=config.learning_rate,
    target_entropy=sac.target_entropy_from_env_spec(environment_spec),
    tau=config.tau,
  )
